"""A control plane by the Platform, where the Platform does not play along."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.vcluster_platform import InstanceStep, PlatformSettings, licence
from clusters.drivers.vcluster_platform.kinds import INSTANCE, PROJECT, TEMPLATE
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.contract.driver_contract import drive_away, settle
from tests.contract.kube.driven import spec_of
from tests.kube import roles, vendor_platform
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import instances, projects
from tests.kube.vendors import Controller, Hands, Namespaces, Running, Vendor

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
SECTION: dict[str, Any] = {
    "template": vendor_platform.NAME,
    "parameters": {"gpuNodes": "{nodes}", "apiHost": "{cluster}.example.com"},
}


class Site:
    """A Platform, the portal's way to it, and a cluster of which nothing exists yet."""

    def __init__(self, server: KubeServer, platform: PlatformProxy) -> None:
        self.server = server
        self.client = KubeClient(platform.access(roles.access(server, "control-plane").token))
        self.ctx = StepContext(spec=spec_of())
        vendor_platform.install(server)

    def step(self, **section: Any) -> InstanceStep:
        """As a pass makes it: template and licence are read anew."""
        settings = PlatformSettings.from_site({"vcluster_platform": {**SECTION, **section}})
        return InstanceStep(settings, lambda _: self.client)

    def instance(self) -> dict[str, Any]:
        """As it is."""
        name = self.ctx.spec.name
        found = self.server.client.get(Ref(INSTANCE, name, f"p-{name}"))
        assert found is not None
        return dict(found)

    @contextmanager
    def played(self, *vendors: Controller) -> Iterator[None]:
        """With the Platform at work; nothing of the cluster stays."""
        with Running(self.server.client, [projects(), *vendors, Namespaces()]):
            yield
            drive_away(self.step(), self.ctx)


@pytest.fixture
def site(kube_server: KubeServer, platform: PlatformProxy) -> Iterator[Site]:
    """See Site; the template and the licence are as they were afterwards."""
    yield Site(kube_server, platform)
    vendor_platform.install(kube_server)


def applied(step: InstanceStep, ctx: StepContext) -> None:
    """Ask until the project's namespace is there."""
    for _ in range(200):
        try:
            step.apply(ctx)
        except TemporaryError:
            continue
        return
    raise AssertionError("it never takes the instance")


def test_what_the_platform_gave_up_is_said_and_can_be_removed(site: Site) -> None:
    with site.played(instances(pace=0.01, fails_at="SpaceReady")):
        step = site.step()
        applied(step, site.ctx)
        seen = step.observe(site.ctx)
        while seen.reason == "ControlPlaneStarting":
            seen = step.observe(site.ctx)
        assert (seen.exists, seen.in_sync, seen.reason) == (True, False, "ControlPlaneFailed")
        assert "SpaceReady" in seen.message
        with pytest.raises(PermanentError) as refused:
            step.apply(site.ctx)
        assert refused.value.reason == "ControlPlaneFailed"
        assert "it broke" in refused.value.hint


def test_a_change_that_may_help_is_made_before_a_failure_is_said(site: Site) -> None:
    with site.played(instances(pace=0, fails_at="SpaceReady")):
        step = site.step()
        applied(step, site.ctx)
        while step.observe(site.ctx).reason != "ControlPlaneFailed":
            pass
        other = site.step(parameters={**SECTION["parameters"], "k8sVersion": "v1.34.1"})
        other.apply(site.ctx)  # says nothing: something was still to be changed
        assert yaml.safe_load(site.instance()["spec"]["parameters"])["k8sVersion"] == "v1.34.1"


def test_a_sleeping_cluster_waits_and_is_not_changed(site: Site) -> None:
    with site.played(Vendor(INSTANCE, lambda _found, _age: {"phase": "Sleeping"})):
        step = site.step()
        applied(step, site.ctx)
        seen = step.observe(site.ctx)
        while seen.reason != "ControlPlaneSleeping":
            seen = step.observe(site.ctx)
        assert (seen.in_sync, seen.ready) == (True, False)
        assert seen.facts["phase"] == "Sleeping"


def test_progress_is_a_fact(site: Site) -> None:
    with site.played(instances(pace=0.01)):
        seen = settle(site.step(), site.ctx)
        assert seen.facts["progress"] == "10 of 10: Ready"
        assert seen.facts["phase"] == "Ready"


def test_a_template_that_went_stops_changes_and_not_the_removal(site: Site) -> None:
    with site.played(instances(pace=0)):
        settle(site.step(), site.ctx)
        Hands(site.server.client).release(Ref(TEMPLATE, vendor_platform.NAME))
        seen = site.step().observe(site.ctx)
        assert (seen.exists, seen.in_sync, seen.reason) == (True, False, "TemplateMissing")
        with pytest.raises(PermanentError):
            site.step().apply(site.ctx)
        drive_away(site.step(), site.ctx)


def with_features(server: KubeServer, features: Iterable[str]) -> None:
    """Another licence."""
    vendor_platform.install(server, features=features)


def test_quotas_only_where_the_licence_has_them(site: Site) -> None:
    def quotas() -> Any:
        project = next(one for one in site.step().wanted(site.ctx) if one.kind == PROJECT)
        return project.manifest["spec"].get("quotas")

    assert quotas() == {"project": {"virtualclusterinstances": "1", "nodeclaims": "2"}}
    with_features(site.server, set(vendor_platform.FEATURES) - {licence.QUOTAS})
    assert quotas() is None


def test_what_the_licence_does_not_serve_is_refused_and_hidden_with_the_reason(site: Site) -> None:
    with_features(site.server, set(vendor_platform.FEATURES) - {"vcp-distro-private-nodes"})
    step = site.step()
    assert step.observe(site.ctx).exists is False
    with pytest.raises(PermanentError) as refused:
        step.apply(site.ctx)
    assert refused.value.reason == "NotLicensed"
    shared = vendor_platform.template("shared", values="controlPlane: {}\n", versions=())
    asking = vendor_platform.template(
        "asking", [{"variable": "secret", "type": "password", "required": True}], values="", versions=()
    )
    vendor_platform.install(
        site.server,
        templates=[shared, asking],
        features=set(vendor_platform.FEATURES) - {"private-nodes-vpn"},
    )
    settings = PlatformSettings.from_site({"vcluster_platform": SECTION})
    told = {offer.name: offer.hidden for offer in licence.offers(site.client, settings)}
    assert told["shared"] == ""
    assert "private-nodes-vpn" in told[vendor_platform.NAME]
    assert "secret" in told["asking"]
    hands = Hands(site.server.client)
    for name in ("shared", "asking"):
        hands.release(Ref(TEMPLATE, name))


def test_another_prefix_of_the_platform_is_named(site: Site, platform: PlatformProxy) -> None:
    platform.platform.prefix = "loft-p-"
    try:
        with pytest.raises(PermanentError) as refused:
            site.step().apply(site.ctx)
        assert "vcluster_platform.namespace_prefix" in refused.value.message
        assert "loft-p-" in refused.value.message
        assert site.server.client.get(Ref(PROJECT, site.ctx.spec.name)) is None
    finally:
        platform.platform.prefix = "p-"


def test_what_an_order_chose_is_part_of_the_parameters_and_never_overrules_the_site(site: Site) -> None:
    def parameters(**chosen: str) -> Any:
        spec = dataclasses.replace(site.ctx.spec, parameters=chosen)
        ctx = dataclasses.replace(site.ctx, spec=spec)
        instance = next(one for one in site.step().wanted(ctx) if one.kind == INSTANCE)
        return yaml.safe_load(instance.manifest["spec"]["parameters"])

    assert parameters()["k8sVersion"] == "v1.35.6"
    assert parameters(k8sVersion="v1.34.1")["k8sVersion"] == "v1.34.1"
    assert parameters(gpuNodes="60")["gpuNodes"] == 2
    for wrong in ({"k8sVersion": "v9"}, {"net.pods": "a\nb: c"}, {"unknown": "1"}):
        with pytest.raises(PermanentError) as refused:
            parameters(**wrong)
        assert refused.value.reason == "BadParameters"
        assert next(iter(wrong)) in refused.value.message
