"""Stock, auto nodes, and nodes that the Platform could not give."""

from __future__ import annotations

import dataclasses
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.vcluster_nodes import (
    AutoNodesStep,
    ClaimedNodesStep,
    NodesSettings,
    Stock,
    StockStep,
    read_stock,
    steps,
)
from clusters.drivers.vcluster_nodes.claims import NODE_CLAIM, NODE_TYPE
from clusters.kube.objects import manifest
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, PoolSpec, StepContext
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tenants.ids import short_name
from tests.kube import roles
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import condition
from tests.kube.vendors import Hands

FLAVOR = FlavorSpec("h100-8", "h100", 8, 192, 2_000_000)
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]
JOINED = [condition(kind) for kind in ("Scheduled", "Provisioned", "Joined")]


@dataclass
class Site:
    """One node type and one cluster of two nodes, as the Platform holds them."""

    server: KubeServer
    client: KubeClient
    kind: str
    ctx: StepContext
    hands: Hands
    settings: NodesSettings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = NodesSettings.from_site(self.section())
        self.server.ensure_namespace(self.settings.namespace(self.ctx.spec))

    def section(self, **other: object) -> JSONDict:
        """Settings of the site."""
        return {"vcluster_nodes": {"node_types": {FLAVOR.name: self.kind}, **other}}

    def set_stock(self, total: int, claimed: int) -> None:
        """What the node provider counts."""
        body = manifest(NODE_TYPE, self.kind, {"spec": {"providerRef": "dc1-metal"}})
        self.hands.create(NODE_TYPE, body)
        capacity = {"total": total, "claimed": claimed}
        status = {"phase": "Available", "capacity": capacity}
        assert self.hands.patch(Ref(NODE_TYPE, self.kind), {"status": status}, "status")

    def claim(self, name: str, *, phase: str, conditions: list[JSONDict], owner: str = "") -> None:
        """A claim as auto nodes make it, this far."""
        namespace = self.settings.namespace(self.ctx.spec)
        cluster = owner or self.ctx.spec.name
        spec = {"providerRef": "dc1-metal", "typeRef": self.kind, "vClusterRef": cluster}
        self.hands.create(NODE_CLAIM, manifest(NODE_CLAIM, name, {"spec": spec}, namespace=namespace))
        status = {"phase": phase, "conditions": conditions}
        assert self.hands.patch(Ref(NODE_CLAIM, name, namespace), {"status": status}, "status")

    def release(self, name: str) -> None:
        """The claim is gone."""
        self.hands.release(Ref(NODE_CLAIM, name, self.settings.namespace(self.ctx.spec)))

    @property
    def going(self) -> StepContext:
        """The context of a removal: steps are told their own facts."""
        return dataclasses.replace(self.ctx, facts={"machines": {}, "nodes": {}, "control-plane": {}})


def spec_of(count: int) -> ClusterSpec:
    """A cluster whose machines nobody has picked yet."""
    identity = uuid.uuid4()
    return ClusterSpec(
        id=str(identity),
        name=f"c-{short_name(identity)}",
        title="Team A",
        tenant="team-a",
        installation="tests",
        pools=(PoolSpec("train", FLAVOR, (), count=count),),
        accounts=(),
        gid=0,
    )


@pytest.fixture
def site(kube_server: KubeServer, platform: PlatformProxy) -> Iterator[Site]:
    """A site with three machines, one of which is claimed."""
    token = roles.access(kube_server, "control-plane").token
    hands = Hands(kube_server.client)
    kind = f"dc1-metal.h100-{secrets.token_hex(4)}"
    client = KubeClient(platform.access(token))
    one = Site(kube_server, client, kind, StepContext(spec=spec_of(2)), hands)
    one.set_stock(3, 1)
    yield one
    hands.release(Ref(NODE_TYPE, kind))


def test_stock_is_what_the_node_types_say(site: Site) -> None:
    assert read_stock(site.client)[site.kind] == Stock(3, 1)
    site.set_stock(1, 4)  # more claimed than there is: none is free
    assert read_stock(site.client)[site.kind].free == 0
    assert site.hands.patch(Ref(NODE_TYPE, site.kind), {"status": {"phase": "Failed"}}, "status")
    assert site.kind not in read_stock(site.client)


def test_machines_are_ready_while_there_is_enough(site: Site) -> None:
    step = StockStep(site.settings, lambda _: site.client)
    seen = step.observe(site.ctx)
    assert (seen.ready, seen.facts["free"]) == (True, f"{site.kind}=2")
    site.set_stock(3, 2)
    seen = step.observe(site.ctx)
    assert (seen.in_sync, seen.ready, seen.reason) == (True, False, "NoCapacity")
    assert f"1 of {site.kind}, 2 needed" in seen.message
    # what the cluster already holds is not needed again
    site.claim("a", phase="Available", conditions=JOINED)
    assert step.observe(site.ctx).ready


def test_a_node_type_that_is_not_there_needs_a_person(site: Site) -> None:
    step = StockStep(site.settings, lambda _: site.client)
    site.hands.release(Ref(NODE_TYPE, site.kind))
    seen = step.observe(site.ctx)
    assert (seen.in_sync, seen.reason) == (False, "NodeTypeUnknown")
    with pytest.raises(PermanentError) as refused:
        step.apply(site.ctx)
    assert site.kind in refused.value.message
    other = dataclasses.replace(site.settings, node_types={"cpu-8": "dc1-metal.cpu"})
    with pytest.raises(PermanentError) as missing:
        StockStep(other, lambda _: site.client).describe(site.ctx.spec)
    assert missing.value.reason == "NodeTypeMissing"


def test_machines_are_gone_with_the_last_claim(site: Site) -> None:
    step = StockStep(site.settings, lambda _: site.client)
    site.claim("a", phase="Available", conditions=JOINED)
    site.claim("b", phase="Available", conditions=JOINED, owner="another")
    assert step.observe(site.going).exists
    assert "a." in step.observe(site.going).message
    step.remove(site.going)
    site.release("a")
    assert step.observe(site.going).exists is False


@pytest.mark.parametrize(
    ("conditions", "phase", "reason"),
    [
        ([], "", "NodeNotScheduled"),
        (JOINED[:1], "Pending", "NodeNotProvisioned"),
        ([*JOINED[:2], condition("Joined", "False", "Waiting")], "Available", "NodeNotJoined"),
        (JOINED, "Pending", "NodeNotAvailable"),
    ],
)
def test_auto_nodes_are_ready_when_all_have_joined(
    site: Site, conditions: list[dict[str, Any]], phase: str, reason: str
) -> None:
    step = AutoNodesStep(site.settings, lambda _: site.client)
    assert step.observe(site.ctx).reason == "NodesAwaited"
    site.claim("a", phase="Available", conditions=JOINED)
    site.claim("b", phase=phase, conditions=conditions)
    seen = step.observe(site.ctx)
    assert (seen.exists, seen.ready, seen.reason) == (True, False, reason)
    site.claim("b", phase="Available", conditions=JOINED)
    seen = step.observe(site.ctx)
    assert (seen.ready, seen.facts["nodes"]) == (True, f"a={site.kind},b={site.kind}")
    site.claim("c", phase="Available", conditions=JOINED)
    assert step.observe(site.ctx).reason == "NodesLeaving"
    assert step.observe(site.going).exists is False


@pytest.mark.parametrize("by_claims", [False, True])
def test_a_node_that_the_platform_gave_up_needs_a_person(site: Site, by_claims: bool) -> None:
    _, step = steps(
        NodesSettings.from_site(site.section(mode="claims" if by_claims else "auto")), lambda _: site.client
    )
    name = f"{site.ctx.spec.name}-train-0" if by_claims else "a"
    if by_claims:
        step.apply(site.ctx)
    told = "no host matched redfish://192.0.2.17"
    site.claim(
        name, phase="Failed", conditions=[*JOINED[:1], condition("Provisioned", "False", "NoHost", told)]
    )
    seen = step.observe(site.ctx)
    assert (seen.in_sync, seen.ready, seen.reason) == (False, False, "NodeFailed")
    assert f"{name} (NoHost)" in seen.message
    with pytest.raises(PermanentError) as refused:
        step.apply(site.ctx)
    assert told in refused.value.hint
    assert "192.0.2.17" not in f"{seen!r} {refused.value.message}"


def test_claims_are_one_for_each_node_of_a_pool(site: Site) -> None:
    step = ClaimedNodesStep(NodesSettings.from_site(site.section(mode="claims")), lambda _: site.client)
    names = [one.ref.name for one in step.wanted(site.ctx)]
    assert names == [f"{site.ctx.spec.name}-train-0", f"{site.ctx.spec.name}-train-1"]
    assert len(step.describe(site.ctx.spec)) == 2


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"node_types": {}}, "node_types"),
        ({"node_types": {"h100": "no-provider"}}, "node_types.h100"),
        ({"mode": "manual"}, "mode"),
        ({"namespace_prefix": "P-"}, "namespace_prefix"),
        ({"profile": "a/b"}, "profile"),
        ({"provider": "x"}, "provider"),
    ],
)
def test_a_wrong_setting_is_named(wrong: JSONDict, key: str) -> None:
    good: JSONDict = {"node_types": {"h100-8": "dc1-metal.hgx-h100"}}
    assert NodesSettings.from_site({"vcluster_nodes": good}).namespace_prefix == "p-"
    with pytest.raises(PermanentError) as refused:
        NodesSettings.from_site({"vcluster_nodes": good | wrong})
    assert (refused.value.reason, f"vcluster_nodes.{key}" in refused.value.message) == (
        "BadSiteSettings",
        True,
    )
