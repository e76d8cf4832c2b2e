"""The fabric step: one wall per cluster, whatever the controller does."""

from __future__ import annotations

import dataclasses
import json
from ipaddress import IPv4Network

import pytest

from clusters.clients.netris.models import Unclear
from clusters.drivers.netris import FabricStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib.errors import PermanentError, TemporaryError
from tests.cases import case
from tests.clusters.netris.server import ANY_CHANGE, FakeNetris, Fault, Kind
from tests.clusters.netris.subject import context, settings_for, spec_for
from tests.contract.driver_contract import drive_away, settle

CLUSTERS = "/api/v2/server-cluster"


@pytest.fixture
def step(netris: FakeNetris) -> FabricStep:
    """The step of a site with two ACLs, one of which would cut clusters off from themselves."""
    return FabricStep(settings_for(netris))


def resized(ctx: StepContext, *machines: str, leaving: tuple[str, ...] = ()) -> StepContext:
    """The same cluster with other machines."""
    (pool,) = ctx.spec.pools
    pools = (dataclasses.replace(pool, machines=machines, leaving=leaving),)
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=pools))


def members(netris: FakeNetris, spec: ClusterSpec) -> list[str]:
    """Who is in the server cluster."""
    (found,) = [one for one in netris.controller.clusters if one["name"] == spec.name]
    return sorted(one["name"] for one in found["servers"])


def stalls(step: FabricStep, ctx: StepContext) -> PermanentError:
    """What apply refuses, and observe tells as well."""
    with pytest.raises(PermanentError) as refused:
        step.apply(ctx)
    return refused.value


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


# -- the wall


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


# -- ACLs


def order_of_rules(netris: FakeNetris, ctx: StepContext) -> list[str]:
    """Names of the rules as they came, without the cluster's."""
    return [rule["name"].removeprefix(f"{ctx.spec.name}-") for rule in netris.controller.rules]


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


# -- removal


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


def believed(step: FabricStep, ctx: StepContext, seen: Observed) -> StepContext:
    """The context of a removal: with the step's own facts."""
    return dataclasses.replace(ctx, facts={"fabric": dict(seen.facts)})


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


def told(step: FabricStep, ctx: StepContext) -> list[tuple[str, str]]:
    """What a preview says would become of what, without the cluster's name."""
    return [(one.action, one.thing.replace(ctx.spec.name, "C")) for one in step.preview(ctx)]


def test_the_preview_shows_what_would_be_sent(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1"))
    nets = [("create", f"V-Net C-{name}") for name in ("E-W", "N-S", "mgmt")]
    rules = [("create", f"ACL C-{name}") for name in ("own", "api", "tenants")]
    assert told(step, ctx) == [("create", "server cluster C"), ("create", "VPC of C"), *nets, *rules]
    text = step.preview(ctx)[0].text
    step.apply(ctx)
    (made,) = netris.controller.clusters
    sent = json.loads(text)
    assert {name: made[name] for name in ("name", "tags", "servers", "srvClusterTemplate")} == {
        name: sent[name] for name in ("name", "tags", "servers", "srvClusterTemplate")
    }
    settle(step, ctx)
    assert told(step, ctx) == []
    assert told(step, resized(ctx, "gpu-1", "gpu-3")) == [("change", "server cluster C")]
    netris.controller.rules[1]["action"] = "deny"
    assert told(step, ctx) == [("change", "ACL C-api")]


def test_before_the_approval_addresses_are_told_later(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1", prefix=""))
    assert ("create", "ACL C-tenants") in told(step, ctx)
    assert step.preview(ctx)[0].text.startswith("# and a gateway for each V-Net")
    with pytest.raises(PermanentError) as refused:
        step.preview(context(netris, spec_for("gpu-99", prefix="")))
    assert refused.value.reason == "ServerUnknown"
    assert netris.changes() == []


def test_what_differs_is_shown_with_both_values(netris: FakeNetris, step: FabricStep) -> None:
    ctx = context(netris, spec_for("gpu-1", "gpu-2"))
    settle(step, ctx)
    netris.controller.clusters[0]["servers"].pop()
    netris.controller.rules[1]["dst_port_to"] = 8443
    netris.controller.vpcs[1]["tags"] = ["theirs"]
    found = {one.thing.replace(ctx.spec.name, "C"): one for one in step.observe(ctx).differences}
    assert set(found) == {"server cluster C", "VPC C-vpc", "ACL C-api"}
    servers = found["server cluster C"]
    assert (servers.path, servers.wanted, servers.found) == ("servers", "gpu-1,gpu-2", "gpu-1")
    assert found["VPC C-vpc"].found == "theirs"
    rule = found["ACL C-api"]
    assert (rule.wanted.rpartition(" ")[2], rule.found.rpartition(" ")[2]) == ("443-443", "443-8443")
    settle(step, ctx)
    assert netris.controller.vpcs[1]["tags"][-1] == "theirs"  # what others wrote there stays


def test_the_plan_names_what_will_be_made(step: FabricStep) -> None:
    lines = step.describe(spec_for("gpu-1", "gpu-2"))
    assert "2 servers" in lines[0]
    assert IPv4Network("10.96.16.0/20").with_prefixlen in lines[1]
    assert len(lines) == 4
