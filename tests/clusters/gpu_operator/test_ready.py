"""When GPUs count as there: the operator's word alone is never enough."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import yaml

from clusters.drivers.gpu_operator import GpuSettings, ready, shapes
from clusters.drivers.gpu_operator.settings import Sharing
from clusters.provisioning.steps import ClusterSpec
from tests.contract.kube.driven import FLAVOR, spec_of

SPEC = spec_of()
MACHINES = SPEC.pools[0].machines
SLICED = GpuSettings(sharing={FLAVOR.name: Sharing(slices=4)})
DIVIDED = GpuSettings(sharing={FLAVOR.name: Sharing(mig="half")}, mig_profiles={"half": []})


def node(name: str, amounts: dict[str, object], **labels: str) -> dict[str, Any]:
    """A node of the pool."""
    listed = {ready.POOL: "gpu", **{key.replace("__", "/"): value for key, value in labels.items()}}
    return {
        "metadata": {"name": name, "labels": listed},
        "status": {"allocatable": {key: str(value) for key, value in amounts.items()}},
    }


def two(amounts: dict[str, object]) -> list[dict[str, Any]]:
    """Both nodes of the cluster."""
    return [node(name, amounts) for name in MACHINES]


@pytest.mark.parametrize(
    ("state", "reason"), [("notReady", "GpuNotReady"), ("", "GpuNotReady"), ("ignored", "PolicyIgnored")]
)
def test_a_policy_that_is_not_ready_says_why(state: str, reason: str) -> None:
    assert ready.policy({"status": {"state": "ready"}}).ready
    assert ready.policy({"status": {"state": state}}).reason == reason
    assert ready.policy({}).reason == "GpuNotReady"


@pytest.mark.parametrize(
    ("settings", "amounts", "is_ready"),
    [
        (GpuSettings(), {"nvidia.com/gpu": 8}, True),
        (GpuSettings(), {"nvidia.com/gpu": 7}, False),
        (GpuSettings(), {"nvidia.com/gpu": 0}, False),
        (GpuSettings(), {"cpu": 192}, False),
        (GpuSettings(), {"nvidia.com/gpu": "many"}, False),
        (SLICED, {"nvidia.com/gpu.shared": 32}, True),
        (SLICED, {"nvidia.com/gpu": 8}, False),
        (DIVIDED, {"nvidia.com/gpu": 4, "nvidia.com/mig-1g.10gb": 28}, True),
        (DIVIDED, {"nvidia.com/gpu": 8}, False),
    ],
)
def test_every_node_has_what_its_pool_promises(
    settings: GpuSettings, amounts: dict[str, object], is_ready: bool
) -> None:
    state = ready.nodes(two(amounts), SPEC, settings)
    assert (state.ready, state.reason) == (is_ready, "" if is_ready else "GpusMissing")


def test_a_node_that_is_not_there_yet_is_missed() -> None:
    fine: dict[str, object] = {"nvidia.com/gpu": 8}
    assert ready.nodes(two(fine)[:1], SPEC, GpuSettings()).message == "1 of 2 nodes of gpu are there."


def test_a_node_that_leaves_counts_for_nothing() -> None:
    pool = dataclasses.replace(SPEC.pools[0], machines=MACHINES[:1], leaving=MACHINES[1:])
    spec: ClusterSpec = dataclasses.replace(SPEC, pools=(pool,))
    assert ready.nodes(
        [node(MACHINES[0], {"nvidia.com/gpu": 8}), node(MACHINES[1], {})], spec, GpuSettings()
    ).ready


def test_gpus_that_could_not_be_divided_are_told_by_node() -> None:
    failed = node(MACHINES[0], {"nvidia.com/mig-1g.10gb": 7}, **{"nvidia.com__mig.config.state": "failed"})
    state = ready.nodes([failed, *two({})[1:]], SPEC, DIVIDED)
    assert (state.reason, MACHINES[0] in state.message) == ("MigFailed", True)


def test_a_cluster_without_gpus_waits_for_none() -> None:
    plain = dataclasses.replace(FLAVOR, gpu_count=0, gpu_type="")
    pools = (dataclasses.replace(SPEC.pools[0], flavor=plain),)
    assert ready.nodes([], dataclasses.replace(SPEC, pools=pools), GpuSettings()).ready


def test_each_number_of_slices_has_a_configuration_that_nodes_follow() -> None:
    files = {name: yaml.safe_load(text) for name, text in shapes.plugin_files(SLICED).items()}
    assert set(files) == {"exclusive", "slices-4"}
    (resource,) = files["slices-4"]["sharing"]["timeSlicing"]["resources"]
    assert resource == {"name": "nvidia.com/gpu", "replicas": 4}
    assert shapes.node_labels(SLICED, FLAVOR.name)["nvidia.com/device-plugin.config"] == "slices-4"
    assert shapes.node_labels(SLICED, "other")["nvidia.com/device-plugin.config"] == "exclusive"


def test_the_profile_without_division_is_always_there() -> None:
    (text,) = shapes.mig_files(DIVIDED).values()
    assert set(yaml.safe_load(text)["mig-configs"]) == {"all-disabled", "half"}
    assert shapes.node_labels(GpuSettings(), FLAVOR.name)["nvidia.com/mig.config"] == "all-disabled"
