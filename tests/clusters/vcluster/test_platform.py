"""What a site says, what a licence allows, and how far an instance is."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from clusters.drivers.vcluster_platform import licence, progress
from clusters.drivers.vcluster_platform.settings import PlatformSettings
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tests.contract.kube.driven import spec_of
from tests.kube import vendor_platform
from tests.kube.vendor_kinds import CONDITIONS, condition

GOOD: JSONDict = {"template": "gpu-slurm"}
WORKS = progress.WORKS
PRIVATE = "vcp-distro-private-nodes"


def site(**other: Any) -> PlatformSettings:
    return PlatformSettings.from_site({"vcluster_platform": GOOD | other})


def test_what_a_site_must_say_is_enough() -> None:
    found = site()
    assert (found.namespace_prefix, found.by_secret, found.quotas, found.vpn) == ("p-", False, True, False)
    assert PlatformSettings.from_site({"vcluster_platform": GOOD}, has_fabric=False).vpn
    spec = spec_of()
    with_address = site(public_address="https://{cluster}.k8s.example.com:6443/")
    assert with_address.address(spec) == f"https://{spec.name}.k8s.example.com:6443"
    assert found.address(spec) == ""


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"template": "Gpu"}, "template"),
        ({"template": None}, "template"),
        ({"version": "latest"}, "version"),
        ({"cluster": "a b"}, "cluster"),
        ({"namespace_prefix": "-"}, "namespace_prefix"),
        ({"public_address": "http://a"}, "public_address"),
        ({"public_address": "https://{host}"}, "public_address"),
        ({"public_address": "https://a/{cluster"}, "public_address"),
        ({"public_address": "https://u@a"}, "public_address"),
        ({"access": "shell"}, "access"),
        ({"access": "secret"}, "cluster"),
        ({"quotas": "yes"}, "quotas"),
        ({"owner": {"user": "a", "team": "b"}}, "owner"),
        ({"owner": {"group": "a"}}, "owner"),
        ({"parameters": ["a"]}, "parameters"),
        ({"parameters": {"a": "{nobody}"}}, "parameters.a"),
        ({"parameters": {"a": {"b": 1}}}, "parameters.a"),
        ({"parameters": {"1": 1}}, "parameters.1"),
        ({"labels": {"freehold.io/cluster": "x"}}, "labels.freehold.io/cluster"),
        ({"labels": {"a": "b c"}}, "labels.a"),
        ({"profile": "A"}, "profile"),
        ({"secret": "/x"}, "secret"),
        ({"templates": "x"}, "templates"),
    ],
)
def test_the_key_that_is_wrong_is_named(wrong: JSONDict, key: str) -> None:
    with pytest.raises(PermanentError) as refused:
        site(**wrong)
    assert refused.value.reason == "BadSiteSettings"
    assert f"vcluster_platform.{key} " in refused.value.message


def test_a_missing_section_is_named() -> None:
    with pytest.raises(PermanentError) as refused:
        PlatformSettings.from_site({})
    assert "vcluster_platform is missing" in refused.value.message


def test_places_in_parameters_are_filled_with_our_own_names() -> None:
    spec = spec_of()
    made = site(
        public_address="https://{cluster}.example.com",
        parameters={
            "all": "{nodes}",
            "h100": "{nodes:hgx-h100}",
            "no": "{nodes:cpu}",
            "host": "{host}",
            "n": 3,
        },
    )
    assert made.given(spec) == {
        "all": "2",
        "h100": "2",
        "no": "0",
        "host": f"{spec.name}.example.com",
        "n": 3,
    }
    assert spec.title not in str(made.given(spec))


# -- the licence


@pytest.mark.parametrize(
    ("values", "needs"),
    [
        ("privateNodes:\n  enabled: true\n", {PRIVATE}),
        ("privateNodes:\n  enabled: false\n", set()),
        ("privateNodes: {enabled: false}\n", set()),
        (
            "privateNodes:\n  enabled: true\n  vpn:\n    enabled: true\n",
            {PRIVATE, "private-nodes-vpn"},
        ),
        (
            "privateNodes:\n  enabled: true\n  vpn: {enabled: false}\n  autoNodes: []\n",
            {PRIVATE},
        ),
        ("  backingStore: {etcd: {embedded: {enabled: true}}}\n", {"vcp-distro-embedded-etcd"}),
        ("deploy:\n  metricsServer: {enabled: true}\n", set()),
        ("deploy:\n  argoCD:\n    applications: []\n", {"argo-integration"}),
        ("description: privateNodes are fine\n", set()),
    ],
)
def test_a_template_needs_what_its_values_switch_on(values: str, needs: set[str]) -> None:
    assert licence.needed(vendor_platform.template(values=values)) == needs


def test_versions_and_missing_features_are_said() -> None:
    made = vendor_platform.template()
    assert "template-versioning" in licence.needed(made, version="1.0.x")
    allowed = frozenset(vendor_platform.FEATURES)
    assert licence.missing(made, allowed, version="1.0.x") == ()
    assert licence.missing(made, allowed - {"private-nodes-vpn"}) == ("private-nodes-vpn",)
    assert licence.missing(made, None, version="1.0.x") == ()  # not told is no ban


# -- how far it is


def instance(phase: str = "Pending", done: tuple[str, ...] = (), **broken: str) -> JSONDict:
    conditions = [condition(name, "True" if name in done else "False") for name in CONDITIONS]
    conditions = [
        {**one, "severity": broken.get(one["type"], "Info")} if one["status"] == "False" else one
        for one in conditions
    ]
    return {"metadata": {"name": "c-1"}, "status": {"phase": phase, "conditions": conditions}}


def test_progress_counts_conditions_in_the_order_of_events() -> None:
    assert progress.told(instance()) == "0 of 10: Scheduled"
    assert progress.told(instance(done=CONDITIONS[:7])) == "7 of 10: VirtualClusterReady"
    shuffled = instance(done=CONDITIONS[:7])
    shuffled["status"]["conditions"].reverse()
    assert progress.told(shuffled) == "7 of 10: VirtualClusterReady"
    later = instance(done=CONDITIONS[5:])  # out of order: what is missing is still said
    assert progress.told(later) == "5 of 10: Scheduled"
    assert progress.told({"metadata": {}}) == "The Platform has not looked at it yet."


@pytest.mark.parametrize(("phase", "lacks"), list(itertools.product(("", "Pending", "Ready"), WORKS)))
def test_ready_is_the_phase_and_both_conditions(phase: str, lacks: str) -> None:
    assert progress.ready(instance("Ready", CONDITIONS)).ready
    assert progress.ready(instance("Ready", ("VirtualClusterReady", "VirtualClusterOnline"))).ready
    without = tuple(name for name in CONDITIONS if name != lacks)
    assert not progress.ready(instance(phase, without)).ready
    assert not progress.ready(instance("Pending", CONDITIONS)).ready


def test_a_sleeping_control_plane_is_not_ready_and_says_so() -> None:
    state = progress.ready(instance("Sleeping", CONDITIONS))
    assert (state.ready, state.reason) == (False, "ControlPlaneSleeping")
    assert "Wake" in state.message


def test_an_error_or_a_failed_phase_is_final_and_a_warning_is_not() -> None:
    assert progress.failure(instance(SpaceReady="Warning")) is None
    failed = progress.failure(instance(SpaceReady="Error"))
    assert failed is not None
    assert failed.reason == "ControlPlaneFailed"
    assert "SpaceReady" in failed.message
    whole = {"status": {"phase": "Failed", "reason": "NoHost", "message": "10.0.0.7 is full"}}
    failed = progress.failure(whole)
    assert failed is not None
    assert "NoHost" in failed.message
    assert "10.0.0.7" not in failed.message  # the provider's own words are for operators
    assert "10.0.0.7" in failed.hint
    assert progress.failure({}) is None


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        site().template = "other"  # type: ignore[misc]
