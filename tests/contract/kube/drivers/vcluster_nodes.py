"""Node claims that we make: brought under the contract of Kubernetes drivers."""

from __future__ import annotations

from collections.abc import Iterable

from clusters.drivers.vcluster_nodes import ClaimedNodesStep, NodesSettings
from clusters.drivers.vcluster_nodes.claims import NODE_CLAIM
from clusters.kube.step import Clients
from clusters.provisioning.steps import StepContext
from tests.contract.kube.driven import FLAVOR, Driven
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import condition
from tests.kube.vendors import Controller, Vendor

SETTINGS = NodesSettings.from_site(
    {
        "vcluster_nodes": {
            "mode": "claims",
            "node_types": {FLAVOR.name: "dc1-metal.hgx-h100"},
            "profile": "gpu-compute",
        }
    }
)


def step(clients: Clients) -> ClaimedNodesStep:
    """The step of the site above."""
    return ClaimedNodesStep(SETTINGS, clients)


step.__name__ = "NodesStep"


def before(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """The namespace of the cluster's project, which the control plane's driver makes."""
    if server is not None:
        server.ensure_namespace(SETTINGS.namespace(ctx.spec))
    return ctx


def node_provider(server: KubeServer) -> Iterable[Controller]:
    """The Platform: every claim gets a machine, which joins."""
    del server
    done = [condition(kind) for kind in ("Scheduled", "Provisioned", "Joined")]
    half: dict[str, object] = {"phase": "Pending", "conditions": done[:1]}

    def status(_: object, age: float) -> dict[str, object]:
        return {"phase": "Available", "conditions": done} if age > 0.2 else half

    return [Vendor(NODE_CLAIM, status)]


DRIVEN = (
    Driven("vcluster-nodes", step, "control-plane", before=before, vendors=node_provider, platform=True),
)
