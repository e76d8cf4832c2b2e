"""Machines that join by themselves or by hand, on a real API server under the portal's rights."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Ref
from clusters.drivers.joined import JoinedNodesStep, JoinedSettings
from clusters.drivers.joined.step import POOL
from clusters.kube import kinds
from clusters.provisioning.steps import StepContext
from portal.lib.errors import PermanentError
from tests.contract.driver_contract import FollowingContract, WatchingContract, settle
from tests.contract.kube.driven import spec_of
from tests.kube import roles
from tests.kube.profiles import nodes_ready
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kube")]


@pytest.fixture
def ctx(kube_server: KubeServer) -> Iterator[StepContext]:
    """A cluster of two machines, of which none has joined."""
    found = StepContext(spec=spec_of(uuid.uuid4()))
    yield found
    for name in found.spec.pools[0].machines:
        Hands(kube_server.client).release(Ref(kinds.NODE, name))


def step(server: KubeServer, *, by_hand: bool = False) -> JoinedNodesStep:
    """With the portal's own rights in a tenant's cluster."""
    client = KubeClient(roles.access(server, "tenant"))
    return JoinedNodesStep(JoinedSettings(by_hand), lambda _: client)


def moved(ctx: StepContext) -> StepContext:
    """Its machines in another pool."""
    pool = dataclasses.replace(ctx.spec.pools[0], name="other")
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=(pool,)))


@dataclass
class Joined:
    """A cluster whose machines have joined; see Subject."""

    server: KubeServer
    step: JoinedNodesStep
    ctx: StepContext

    def inventory(self) -> dict[str, object]:
        """The pool of each node."""
        found = {
            name: self.server.client.get(Ref(kinds.NODE, name)) for name in self.ctx.spec.pools[0].machines
        }
        return {name: node["metadata"]["labels"].get(POOL) for name, node in found.items() if node}

    def damage(self) -> None:
        """Lose a label."""
        node = Ref(kinds.NODE, self.ctx.spec.pools[0].machines[0])
        assert Hands(self.server.client).patch(node, {"metadata": {"labels": {POOL: None}}})

    def changed(self) -> StepContext:
        """Of another pool."""
        return moved(self.ctx)


class TestJoined(WatchingContract, FollowingContract):
    """Nodes are labelled, and never made or removed."""

    @pytest.fixture
    def subject(self, kube_server: KubeServer, ctx: StepContext) -> Joined:
        nodes_ready(kube_server, ctx.spec.pools[0].machines)
        return Joined(kube_server, step(kube_server), ctx)


def test_each_is_waited_for_labelled_and_seen_ready(kube_server: KubeServer, ctx: StepContext) -> None:
    made = step(kube_server)
    pool = ctx.spec.pools[0]
    seen = made.observe(ctx)
    assert (seen.ready, seen.reason, seen.waits_for) == (False, "JoinAwaited", "")
    assert ", ".join(pool.machines) in seen.message
    nodes_ready(kube_server, pool.machines[:1])
    made.apply(ctx)
    assert made.observe(ctx).message == f"Still to join: {pool.machines[1]}."
    assert kube_server.client.get(Ref(kinds.NODE, pool.machines[1])) is None  # none is made
    nodes_ready(kube_server, pool.machines)
    assert settle(made, ctx).facts == {"nodes": ",".join(pool.machines)}
    node = kube_server.client.get(Ref(kinds.NODE, pool.machines[1]))
    assert node is not None
    assert node["metadata"]["labels"][POOL] == pool.name
    drifted = moved(ctx)
    seen = made.observe(drifted)
    assert (seen.in_sync, seen.routine, seen.differences[0].wanted) == (False, True, "other")
    settle(made, drifted)
    down = {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}
    Hands(kube_server.client).write_status(Ref(kinds.NODE, pool.machines[0]), down, "status")
    assert made.observe(drifted).reason == "NodesNotReady"
    going = dataclasses.replace(drifted, facts={"nodes": {}})
    assert made.observe(going).exists is False


def test_by_hand_an_operator_is_waited_for(kube_server: KubeServer, ctx: StepContext) -> None:
    made = step(kube_server, by_hand=True)
    seen = made.observe(ctx)
    assert (seen.reason, seen.waits_for) == ("JoinAwaited", "an operator")
    assert "join_command" in seen.message
    assert "by an operator's hand" in made.describe(ctx.spec)[0]


def test_a_wrong_setting_is_named() -> None:
    assert JoinedSettings.from_site({}) == JoinedSettings()
    for wrong, key in (({"by_hand": "yes"}, "by_hand"), ({"hand": True}, "hand")):
        with pytest.raises(PermanentError) as refused:
            JoinedSettings.from_site({"joined": wrong})
        assert f"joined.{key}" in refused.value.message
