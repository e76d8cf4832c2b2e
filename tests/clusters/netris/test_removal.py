"""A fabric goes in order, and is called gone only when that is known."""

from __future__ import annotations

import pytest

from clusters.drivers.netris import FabricStep
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.netris.server import FakeNetris, Fault
from tests.clusters.netris.subject import (
    believed,
    context,
    settings_for,
    spec_for,
)
from tests.contract.driver_contract import drive_away, settle

pytestmark = pytest.mark.slow

CLUSTERS = "/api/v2/server-cluster"


def test_the_server_cluster_goes_before_the_vpc(netris: FakeNetris, step: FabricStep) -> None:
    netris.controller.ready_after = 3
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    netris.requests.clear()
    drive_away(step, ctx)
    asked = [one.rsplit("/", 1)[0] for one in netris.changes()]
    assert asked[0] == f"DELETE {CLUSTERS}"
    assert asked[-1] == "DELETE /api/v2/vpc"
    assert netris.controller.vpcs[1:] == []
    assert netris.controller.rules == []
    assert [one["name"] for one in netris.controller.ipam] == ["pool"]


def test_an_unmarked_vpc_is_marked_before_its_server_cluster_goes(
    netris: FakeNetris, step: FabricStep
) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    step.apply(ctx)  # and the worker died: the VPC bears no mark yet
    assert netris.controller.vpcs[1]["tags"] == []
    drive_away(step, ctx)
    assert netris.controller.vpcs[1:] == []


@case("U38")
@pytest.mark.parametrize("kind", ["partial", "short", "half", "html", "error", "unseen"])
def test_half_an_answer_is_not_gone(netris: FakeNetris, step: FabricStep, kind: str) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    going = believed(step, ctx, settle(step, ctx))
    # only the server cluster is left to be seen: its listing alone decides
    netris.controller.rules, netris.controller.vpcs = [], netris.controller.vpcs[:1]
    netris.faults = [Fault(kind, path=CLUSTERS, times=2)]  # type: ignore[arg-type]
    with pytest.raises(TemporaryError):
        step.observe(going)
    netris.faults = []
    assert step.observe(going).exists


def test_gone_is_believed_of_a_user_who_sees_the_site(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    assert step.observe(ctx).exists is False
    blind = FabricStep(settings_for(netris, site="DC9"))
    with pytest.raises(PermanentError) as refused:
        blind.observe(ctx)
    assert refused.value.reason == "SiteUnknown"


def test_what_lost_its_mark_is_neither_touched_nor_called_gone(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    going = believed(step, ctx, settle(step, ctx))
    netris.controller.clusters[0]["tags"] = []
    netris.controller.rules, netris.controller.vpcs[1]["tags"] = [], []
    with pytest.raises(PermanentError) as refused:
        step.observe(going)
    assert refused.value.reason == "MarkLost"
    step.remove(going)
    assert netris.controller.clusters
