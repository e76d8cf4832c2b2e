"""The fabric step: what it makes, follows and finds ready, whatever the controller does."""

from __future__ import annotations

import pytest

from clusters.clients.netris.models import Unclear
from clusters.drivers.netris import FabricStep
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.netris.server import ANY_CHANGE, FakeNetris, Fault, Kind
from tests.clusters.netris.subject import (
    believed,
    context,
    members,
    order_of_rules,
    resized,
    settings_for,
    spec_for,
    stalls,
)
from tests.contract.driver_contract import drive_away, settle

pytestmark = pytest.mark.slow

CLUSTERS = "/api/v2/server-cluster"


def test_a_cluster_gets_a_vpc_and_addresses_of_its_own(netris: FakeNetris, step: FabricStep) -> None:
    specs = [spec_for("gpu-1", "gpu-2"), spec_for("gpu-3", prefix="10.96.32.0/20")]
    seen = [settle(step, context(netris, spec)) for spec in specs]
    assert len({one.facts["vpc_id"] for one in seen}) == 2
    assert [one.facts["servers"] for one in seen] == ["gpu-1,gpu-2", "gpu-3"]
    assert seen[0].facts["prefixes"] == "10.96.16.0/24,10.96.17.0/24"
    assert seen[1].facts["prefixes"] == "10.96.32.0/24,10.96.33.0/24"
    for vpc in netris.controller.vpcs[1:]:
        assert any(tag.startswith("freehold.io/cluster=") for tag in vpc["tags"])


def test_a_ready_cluster_is_looked_at_with_one_call_per_kind(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    netris.requests.clear()
    assert step.observe(ctx).ready
    assert sorted(netris.requests) == ["GET /api/acl", f"GET {CLUSTERS}", "GET /api/v2/vpc"]


@case("U38")
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("lost", "POST", CLUSTERS), Unclear),
        (Fault("unseen", "POST", CLUSTERS), Unclear),
        (Fault("no", "POST", CLUSTERS, message="try again later"), TemporaryError),
        (Fault("error", "POST", CLUSTERS, status=502), TemporaryError),
        (Fault("html", "POST", CLUSTERS), TemporaryError),
    ],
)
def test_trouble_while_creating_leaves_exactly_one(
    netris: FakeNetris, step: FabricStep, fault: Fault, error: type[Exception]
) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    netris.faults = [fault]
    with pytest.raises(error):
        step.apply(ctx)
    settle(step, ctx)
    assert len(netris.controller.clusters) == 1
    assert len(netris.controller.vpcs) == 2


@case("U38")
@pytest.mark.parametrize("kind", ["lost", "unseen", "error", "html", "gone"])
def test_trouble_at_any_change_leads_to_the_same_end(
    netris: FakeNetris, step: FabricStep, kind: Kind
) -> None:
    for point in range(40):
        ctx = context(netris, spec_for("gpu-1", "gpu-2"))
        fault = Fault(kind, ANY_CHANGE, skip=point)
        netris.faults = [fault]
        settle(step, ctx)
        grown = resized(ctx, "gpu-1", "gpu-2", "gpu-3")
        settle(step, grown)
        assert len(netris.controller.clusters) == 1
        assert len(netris.controller.vpcs) == 2
        assert sorted(order_of_rules(netris, ctx)) == ["api", "own", "tenants"]
        drive_away(step, believed(step, grown, step.observe(grown)))
        assert (netris.controller.vpcs[1:], netris.controller.rules, netris.controller.ipam[1:]) == (
            [],
            [],
            [],
        )
        if fault.times:  # never struck: there are no more changes
            assert point > 8
            return
    raise AssertionError("there are more changes than the test looks at")


def test_a_session_that_ends_in_the_middle_does_not_matter(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    paths = ("/api/v2/vpc", "/api/v2/hw", CLUSTERS, "/api/acl")
    netris.faults = [Fault("gone", verb, path) for path in paths for verb in ("POST", "GET")]
    settle(step, ctx)
    assert len(netris.controller.clusters) == 1
    assert [fault.times for fault in netris.faults].count(0) == 6


def test_growing_and_shrinking_send_the_whole_list(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1", "gpu-2"))
    settle(step, ctx)
    settle(step, resized(ctx, "gpu-1", "gpu-2", "gpu-3"))
    assert members(netris, ctx.spec) == ["gpu-1", "gpu-2", "gpu-3"]
    emptying = resized(ctx, "gpu-1", leaving=("gpu-2", "gpu-3"))
    assert step.observe(emptying).in_sync
    settle(step, resized(ctx, "gpu-1", "gpu-4", leaving=("gpu-2",)))
    assert members(netris, ctx.spec) == ["gpu-1", "gpu-2", "gpu-4"]
    settle(step, resized(ctx, "gpu-1"))
    assert members(netris, ctx.spec) == ["gpu-1"]


def test_it_is_ready_when_the_switches_follow(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    (made,) = netris.controller.clusters
    made["label"] = "Provisioning"
    netris.controller.vnets[0]["status"] = {"label": "Provisioning"}
    seen = step.observe(ctx)
    assert (seen.in_sync, seen.ready, seen.reason) == (True, False, "FabricNotReady")
    assert f"{ctx.spec.name}-E-W" in seen.message
    made["label"] = "Error"
    assert step.observe(ctx).reason == "FabricFailed"
    made["label"] = "OK"
    assert step.observe(ctx).ready
    made["looks"] = -9  # no V-Nets in the answer yet
    assert step.observe(ctx).reason == "FabricNotReady"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"template": "cpu"}, "FabricUnknown"),
        ({"tenant": "nobody"}, "FabricUnknown"),
        ({"site": "DC9"}, "FabricUnknown"),
    ],
)
def test_what_the_controller_does_not_have_is_named(
    netris: FakeNetris, other: dict[str, str], reason: str
) -> None:
    error = stalls(FabricStep(settings_for(netris, **other)), context(netris, spec_for("gpu-1")))
    assert error.reason == reason
    assert next(iter(other)) in error.hint


def test_machines_are_found_by_name_at_the_site(netris: FakeNetris, step: FabricStep) -> None:
    error = stalls(step, context(netris, spec_for("gpu-1", "gpu-77", "leaf-1")))
    assert error.reason == "ServerUnknown"
    assert "gpu-77, leaf-1" in error.message
    step.apply(context(netris, spec_for("gpu-1")))  # the one of DC1, not its namesake at DC2
    (made,) = netris.controller.clusters
    assert made["servers"][0]["id"] == netris.controller.servers[0]["id"]


def test_no_password_no_call(netris: FakeNetris, step: FabricStep) -> None:
    with pytest.raises(PermanentError) as refused:
        step.observe(StepContext(spec=spec_for("gpu-1")))
    assert refused.value.reason == "SecretMissing"
    assert netris.requests == []
