"""What a site's drivers and settings lead to, and what is refused by its key."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.drivers.gpu_operator import GpuSettings
from clusters.drivers.kubernetes_stack import KubernetesSettings
from clusters.drivers.slinky import SlinkySettings
from clusters.drivers.volcano import VolcanoSettings
from clusters.kube.gitops.settings import GitOps
from clusters.models import Site
from clusters.provisioning import stack_drivers
from clusters.provisioning.registry import steps_for
from portal.lib.errors import PermanentError
from tests.contract.kube.drivers.slinky import SITE

BELOW = {"control_plane": "local"}
WITH_SLURM = {**BELOW, "gitops": "gitops", "gpu": "gpu_operator", "home": "slinky", "accounting": "slinky"}
DELIVERY = {"delivery": {"controller": "argo"}}


def site(drivers: dict[str, str], settings: dict[str, Any]) -> Site:
    """A row that is not stored."""
    return Site(name="dc1", slug="dc1", drivers=drivers, settings=settings)


def order_of(drivers: dict[str, str], settings: dict[str, Any], stack: str) -> list[str]:
    """The steps of a plan."""
    return [
        step.name
        for step in steps_for(site({**drivers, stack: drivers.get(stack, "slinky")}, settings), stack)
    ]


def test_slurm_by_gitops_has_every_step_after_those_that_it_needs() -> None:
    found = order_of(WITH_SLURM, {**SITE, **DELIVERY}, "slurm")
    assert set(found) == {
        *("control-plane", "nodes", "gitops", "gpu", "slurm-keys", "addons", "home", "accounting"),
        *("slurm", "identity", "smoke", "accounts", "isolation"),
    }
    assert found[-5:] == ["slurm", "identity", "smoke", "accounts", "isolation"]
    assert found.index("gitops") < min(found.index("gpu"), found.index("addons"))


def test_slurm_without_a_chart_needs_no_gitops() -> None:
    direct = {"slinky": {"install": "direct"}}
    assert order_of(BELOW, direct, "slurm") == [
        *("control-plane", "nodes", "slurm-keys", "slurm", "identity", "smoke", "isolation"),
    ]


def test_the_other_stacks_have_no_step_of_slurms() -> None:
    plain = order_of({**BELOW, "kubernetes": "kubernetes_stack"}, {}, "kubernetes")
    assert plain == ["control-plane", "nodes", "kubernetes", "isolation"]
    volcano = order_of({**BELOW, "gitops": "gitops", "volcano": "volcano"}, DELIVERY, "volcano")
    assert volcano == ["control-plane", "nodes", "gitops", "volcano", "smoke", "isolation"]


def test_a_site_that_installs_by_gitops_must_say_by_which() -> None:
    for drivers, stack in (({**BELOW, "gpu": "gpu_operator"}, "slurm"), (BELOW, "slurm")):
        with pytest.raises(PermanentError) as refused:
            order_of(drivers, {}, stack)
        assert refused.value.reason == "BadSiteSettings"


@pytest.mark.parametrize("concern", ["home", "accounting"])
def test_a_driver_for_what_the_settings_do_not_have_is_refused(concern: str) -> None:
    with pytest.raises(PermanentError) as refused:
        order_of({**BELOW, concern: "slinky"}, {"slinky": {"install": "direct"}}, "slurm")
    assert refused.value.reason == "BadSiteSettings"
    assert concern.replace("accounting", "database") in refused.value.hint


def test_a_site_without_shared_homes_says_so_before_the_order() -> None:
    slurm = {"slurm": "slinky"}
    assert stack_drivers.remarks(slurm, {}, "slurm") == ("HomeNotShared",)
    assert stack_drivers.remarks({**slurm, "home": "slinky"}, SITE, "slurm") == ()
    assert stack_drivers.remarks({"slurm": "local"}, {}, "slurm") == ()
    assert stack_drivers.remarks(slurm, {}, "kubernetes") == ()


def test_argo_cd_may_install_only_from_the_repositories_of_the_sites_drivers() -> None:
    (step,) = stack_drivers.gitops(_wanted({**WITH_SLURM, "slurm": "slinky"}, {**SITE, **DELIVERY}))
    assert step._repos == (  # type: ignore[attr-defined]
        "oci://ghcr.io/slinkyproject/charts/*",
        "oci://quay.io/jetstack/charts/*",
        "https://helm.ngc.nvidia.com/nvidia",
    )


def _wanted(drivers: dict[str, str], settings: dict[str, Any]) -> Any:
    from clusters.provisioning.registry import Wanted  # noqa: PLC0415

    return Wanted(site(drivers, settings), "slurm", frozenset({"gitops"}))


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"instal": "direct"}, "slinky.instal"),
        ({"install": "helm"}, "slinky.install"),
        ({"home": {"size": "1Ti"}}, "slinky.home.storage_class"),
        ({"home": {"storage_class": "nfs", "size": "10 TB"}}, "slinky.home.size"),
        ({"database": {"host": "db", "user": "x; drop"}}, "slinky.database.user"),
        ({"database": {"host": "db", "port": 0}}, "slinky.database.port"),
        ({"images": {"registry": "registry.example/a b"}}, "slinky.images.registry"),
        ({"images": {"helper": "alpine"}}, "slinky.images.helper"),
        ({"login": {"service": "Ingress"}}, "slinky.login.service"),
        ({"login": {"root_keys": ["ssh-ed25519 AAAA\nrestrict"]}}, "slinky.login.root_keys"),
        ({"charts": {"repo": "git://example"}}, "slinky.charts.repo"),
        ({"charts": {"version": "1.2.1\n"}}, "slinky.charts.version"),
        ({"rest_url": "http://slurm.example"}, "slinky.rest_url"),
        ({"vnode": "yes"}, "slinky.vnode"),
        ({"spare_cpus": -1}, "slinky.spare_cpus"),
        ([], "slinky"),
    ],
)
def test_what_does_not_hold_is_named_by_its_key(section: object, key: str) -> None:
    with pytest.raises(PermanentError, match=key.replace(".", r"\.")) as refused:
        SlinkySettings.from_site({"slinky": section})
    assert refused.value.reason == "BadSiteSettings"


def test_the_defaults_hold_and_a_whole_section_is_read() -> None:
    assert SlinkySettings.from_site({}) == SlinkySettings()
    found = SlinkySettings.from_site(SITE)
    assert found.home is not None
    assert (found.home.size, found.login.replicas, found.vnode) == ("10Ti", 2, True)
    assert found.images.of("slurmd") == "registry.example/slinky/slurmd:26.05-ubuntu26.04"


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"sharing": {"a": {}}}, "gpu_operator.sharing.a"),
        ({"sharing": {"a": {"slices": 1}}}, "gpu_operator.sharing.a"),
        ({"sharing": {"a": {"mig": "half"}}}, "gpu_operator.sharing.a.mig"),
        (
            {"sharing": {"a": {"mig": "half", "slices": 2}}, "mig_profiles": {"half": []}},
            "gpu_operator.sharing.a",
        ),
        ({"mig_profiles": {"Half": []}}, "gpu_operator.mig_profiles.Half"),
        ({"driver": 1}, "gpu_operator.driver"),
    ],
)
def test_gpus_are_shared_in_one_way_only(section: object, key: str) -> None:
    with pytest.raises(PermanentError, match=key.replace(".", r"\.")):
        GpuSettings.from_site({"gpu_operator": section})


def test_the_other_sections_are_checked_too() -> None:
    for read in (
        lambda: GitOps.from_site({"delivery": {"controller": "spinnaker"}}),
        lambda: GitOps.from_site({}),
        lambda: VolcanoSettings.from_site({"volcano": {"image": "busybox"}}),
        lambda: KubernetesSettings.from_site({"kubernetes_stack": {"pods": 0}}),
    ):
        with pytest.raises(PermanentError) as refused:
            read()
        assert refused.value.reason == "BadSiteSettings"
    assert GitOps.from_site(DELIVERY).namespace == "argocd"
