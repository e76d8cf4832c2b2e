"""The local control plane and its nodes as subjects of the driver contract."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable

from clusters.clients.kube.models import Ref
from clusters.drivers.local import daemons, plane_access, planes
from clusters.drivers.local.nodes import NODES
from clusters.drivers.local.planes import SERVER, Plane
from clusters.provisioning.steps import StepContext
from portal.lib import processes
from tests.clusters.drivers.lab import Lab
from tests.clusters.drivers.subjects import LocalSubject
from tests.contract.driver_contract import drive_away
from tests.fixtures.ports import free_block
from tests.kube import assets

CONCERNS = ("machines", "fabric", "control_plane")


def plane_of(lab: Lab, ctx: StepContext) -> Plane:
    """The cluster's control plane."""
    return planes.of(lab.settings.data, ctx.spec)


class ControlPlaneSubject(LocalSubject):
    """The control-plane step."""

    name = "control-plane"

    def inventory(self) -> dict[str, object]:
        """The folder, and every process by what it is."""
        plane = plane_of(self.lab, self.ctx)
        found: dict[str, object] = {}
        for root in (plane.root, planes.gone(plane)):
            if root.exists():
                found[root.name[:5]] = sorted(path.name for path in root.iterdir())
        if daemons.listens(self.ctx.ports[SERVER]):
            found["server on its port"] = True
        for one in planes.search({str(plane.root): self.ctx.spec.gid}):
            pids = found.setdefault(f"process {one.role}", [])
            assert isinstance(pids, list)
            pids.append(one.record.pid)
        return found

    def damage(self) -> None:
        """Kill the API server."""
        one = planes.find(plane_of(self.lab, self.ctx).root, self.ctx.spec.gid)["kube-apiserver"]
        assert processes.send_signal(one.record, signal.SIGKILL)
        assert not daemons.wait_gone([one.record], seconds=20)

    def changed(self) -> StepContext:
        """The same cluster on other ports."""
        return dataclasses.replace(self.ctx, ports=free_block(30))

    def impostor(self) -> Callable[[], object]:
        """A folder of somebody else's."""
        root = plane_of(self.lab, self.ctx).root
        root.mkdir()
        (root / "theirs").write_text("keep me")
        return lambda: [(path.name, path.read_text()) for path in root.iterdir()]


class NodesSubject(LocalSubject):
    """The nodes step."""

    name = "nodes"

    def __init__(self, lab: Lab, ctx: StepContext) -> None:
        """In a control plane that runs; nodes that others left there go."""
        self.lab, self.step, self.ctx = lab, lab.site[self.name], ctx
        self.fresh()

    def fresh(self) -> None:
        """Start over in the same control plane: of a cluster without nodes it holds nothing of this step."""
        drive_away(self.step, self.ctx)
        client = plane_access.portal_client(self.ctx)
        for node in client.list(NODES):
            client.delete(Ref(NODES, node["metadata"]["name"]), uid=node["metadata"]["uid"])

    def inventory(self) -> dict[str, object]:
        """Our nodes, each with its version."""
        if not daemons.listens(self.ctx.ports[SERVER]):
            return {}
        client = plane_access.portal_client(self.ctx)
        nodes = client.list(NODES, labels=plane_access.marks(self.ctx.spec))
        return {node["metadata"]["name"]: node["metadata"]["resourceVersion"] for node in nodes}

    def damage(self) -> None:
        """Delete a node."""
        client = plane_access.portal_client(self.ctx)
        node = client.list(NODES)[0]
        client.delete(Ref(NODES, node["metadata"]["name"]), uid=node["metadata"]["uid"])

    def impostor(self) -> Callable[[], object]:
        """A node of a machine's name that somebody else made."""
        client = plane_access.portal_client(self.ctx)
        name = self.ctx.spec.pools[0].machines[0]
        client.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, NODES)
        return lambda: client.get(Ref(NODES, name))


def linked(lab: Lab) -> Lab:
    """The lab with the programs where the driver looks for them. Skips the test without them."""
    assets.link(lab.settings.programs)
    return lab
