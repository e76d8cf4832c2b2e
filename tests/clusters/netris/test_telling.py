"""What people are told: the preview before the approval, differences afterwards."""

from __future__ import annotations

import json
from ipaddress import IPv4Network

import pytest

from clusters.drivers.netris import FabricStep
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError
from tests.clusters.netris.server import FakeNetris
from tests.clusters.netris.subject import (
    context,
    resized,
    spec_for,
)
from tests.contract.driver_contract import settle

pytestmark = pytest.mark.slow


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
