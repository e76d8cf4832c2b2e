"""One wall per cluster: machines, VPC and addresses that nobody else has."""

from __future__ import annotations

import pytest

from clusters.drivers.netris import FabricStep
from tests.clusters.netris.server import FakeNetris
from tests.clusters.netris.subject import (
    context,
    settings_for,
    spec_for,
    stalls,
)
from tests.contract.driver_contract import drive_away, settle

pytestmark = pytest.mark.slow


def test_a_machine_of_another_server_cluster_is_refused(netris: FakeNetris, step: FabricStep) -> None:
    other = context(netris, spec_for("gpu-2", prefix="10.96.32.0/20"))
    settle(step, other)
    ctx = context(netris, spec_for("gpu-1", "gpu-2"))
    error = stalls(step, ctx)
    assert error.reason == "MachineElsewhere"
    assert "gpu-2" in error.message
    assert other.spec.name not in error.message  # another tenant's
    assert other.spec.name in error.hint
    assert len(netris.controller.clusters) == 1


def test_a_machine_that_turns_up_elsewhere_is_no_longer_fine(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1", "gpu-2"))
    settle(step, ctx)
    other = context(netris, spec_for("gpu-3", prefix="10.96.32.0/20"))
    settle(step, other)
    copied = dict(netris.controller.clusters[0]["servers"][0])
    netris.controller.clusters[1]["servers"].append(copied)
    seen = step.observe(ctx)
    assert (seen.in_sync, seen.ready, seen.reason) == (False, False, "MachineElsewhere")
    assert stalls(step, ctx).reason == "MachineElsewhere"
    drive_away(step, ctx)  # and yet it can be removed
    assert [one["name"] for one in netris.controller.clusters] == [other.spec.name]


def test_a_vpc_that_others_entered_is_no_wall(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    (own,) = netris.controller.vpcs[1:]
    netris.controller.add_cluster(
        {
            "name": "storage",
            "admin": {"id": 7},
            "site": {"id": 1, "name": "DC1"},
            "vpc": {"id": own["id"], "name": own["name"]},
            "srvClusterTemplate": {
                "id": 3,
                "ipv4Gateways": [{"postfix": "mgmt", "address": "172.16.0.1/24"}],
            },
            "tags": [],
            "servers": [],
        }
    )
    assert step.observe(ctx).reason == "VpcShared"
    assert stalls(step, ctx).reason == "VpcShared"
    step.remove(ctx)
    netris.controller.ready_after = 0
    step.observe(ctx)
    step.remove(ctx)
    assert own in netris.controller.vpcs  # what others use stays


def test_prefixes_never_overlap(netris: FakeNetris, step: FabricStep) -> None:
    settle(step, context(netris, spec_for("gpu-1", prefix="10.96.16.0/20")))
    error = stalls(step, context(netris, spec_for("gpu-2", prefix="10.96.16.0/21")))
    assert error.reason == "PrefixInUse"
    assert len(netris.controller.clusters) == 1
    settle(step, context(netris, spec_for("gpu-2", prefix="10.96.48.0/20")))


def test_prefixes_that_overlap_all_the_same_are_seen(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    settle(step, context(netris, spec_for("gpu-2", prefix="10.96.48.0/20")))
    second = netris.controller.clusters[1]
    second["nets"][1]["ipv4Gateways"] = [{"prefix": "10.96.16.200/25"}]
    assert step.observe(ctx).reason == "PrefixOverlaps"
    assert second["name"] not in step.observe(ctx).message
    second["site"] = {"id": 2, "name": "DC2"}
    assert step.observe(ctx).ready


def test_a_controller_that_ignores_our_gateways_is_found_out(netris: FakeNetris) -> None:
    netris.controller.takes_gateways = False
    for net in netris.controller.templates[0]["vnets"]:
        if net["postfix"] == "mgmt":
            net["ipv4Gateway"] = "192.168.20.254/24"
    step = FabricStep(settings_for(netris, acls=[]))
    ctx = context(netris, spec_for("gpu-1"))
    step.apply(ctx)
    assert step.observe(ctx).reason == "PrefixIgnored"
    plain = FabricStep(settings_for(netris, acls=[], gateways=False))
    assert settle(plain, ctx).facts["prefixes"] == "192.168.10.0/24,192.168.20.0/24"
    # the template gives everybody the same addresses: the second cluster is not let in
    second = context(netris, spec_for("gpu-2"))
    plain.apply(second)
    assert plain.observe(second).reason == "PrefixOverlaps"


def test_a_template_that_asks_for_gateways_needs_a_prefix_with_room(netris: FakeNetris) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    assert stalls(FabricStep(settings_for(netris, gateways=False)), ctx).reason == "TemplateWantsGateways"
    step = FabricStep(settings_for(netris))
    assert stalls(step, context(netris, spec_for("gpu-1", prefix=""))).reason == "PrefixMissing"
    assert stalls(step, context(netris, spec_for("gpu-1", prefix="10.96.16.0/24"))).reason == "PrefixTooSmall"
    assert netris.controller.clusters == []
    step.apply(ctx)
    assert len(netris.controller.clusters) == 1
