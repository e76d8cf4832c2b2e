"""ACLs of a site: a cluster is never cut off from itself."""

from __future__ import annotations

import pytest

from clusters.clients.netris.models import Unclear
from clusters.drivers.netris import FabricStep
from tests.clusters.netris.server import FakeNetris, Fault
from tests.clusters.netris.subject import (
    context,
    order_of_rules,
    settings_for,
    spec_for,
    stalls,
)
from tests.contract.driver_contract import settle

pytestmark = pytest.mark.slow


def test_a_deny_that_covers_the_cluster_comes_after_a_permit_for_itself(
    netris: FakeNetris, step: FabricStep
) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    assert order_of_rules(netris, ctx) == ["own", "api", "tenants"]
    own = netris.controller.rules[0]
    assert (own["action"], own["src_prefix"], own["dst_prefix"]) == ("permit", "10.96.16.0", "10.96.16.0")


def test_a_deny_elsewhere_needs_no_permit(netris: FakeNetris) -> None:
    acls = [{"name": "office", "action": "deny", "destination": "172.16.0.0/12"}]
    ctx = context(netris, spec_for("gpu-1"))
    settle(FabricStep(settings_for(netris, acls=acls)), ctx)
    assert order_of_rules(netris, ctx) == ["office"]


def test_no_deny_without_a_permit_that_is_listed(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    step.apply(ctx)
    netris.faults = [Fault("unseen", "POST", "/api/acl")]
    with pytest.raises(Unclear):
        step.apply(ctx)
    assert netris.controller.rules == []
    settle(step, ctx)
    assert order_of_rules(netris, ctx) == ["own", "api", "tenants"]


def test_a_permit_that_was_changed_takes_the_deny_with_it(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    settle(step, ctx)
    netris.controller.rules[0]["dst_prefix"] = "10.97.0.0"
    assert step.observe(ctx).reason == "FabricDiffers"
    step.apply(ctx)
    assert order_of_rules(netris, ctx) == ["api"]
    settle(step, ctx)
    assert order_of_rules(netris, ctx) == ["api", "own", "tenants"]


def test_a_rule_of_somebody_else_with_our_name_is_left_alone(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    theirs = {"id": 40, "name": f"{ctx.spec.name}-api", "comment": "by hand", "action": "permit"}
    netris.controller.rules.append(dict(theirs))
    assert stalls(step, ctx).reason == "NameTaken"
    step.remove(ctx)
    assert netris.controller.rules == [theirs]
