"""The nodes step: one Node object for each machine of the order, in the tenant's own API server.

No kubelet stands behind them: each says by a label that it is simulated. No controller that judges nodes
by their heartbeats runs in a local control plane, so a node stays as it was written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.drivers.local import daemons, files, folder, names, node_drift, plane_access, planes
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.machines import leaving
from clusters.drivers.local.plane_access import contains, marks
from clusters.drivers.local.planes import SERVER
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import ClusterSpec, FlavorSpec, Observed, StepContext
from portal.lib import clock
from portal.lib.errors import TemporaryError
from portal.lib.types import JSONDict

NODES = Kind("v1", "Node", "nodes", namespaced=False)
SIMULATED = "freehold.io/simulated"
GPU = "nvidia.com/gpu"
PODS = "110"
RECORD = "nodes"


class NodesStep:
    """Keeps the Node objects of the cluster's machines, each with its flavor's capacity."""

    name = "nodes"
    component = "Kubernetes"
    needs: tuple[str, ...] = ("control-plane",)
    deadline = dt.timedelta(minutes=2)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"node {names.label(machine)} of pool {pool.name} (simulated)"
            for pool in spec.pools
            for machine in pool.machines
        )

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Compare the API server's nodes with the machines."""
        names.check_cluster(ctx.spec)
        plane = planes.of(self._settings.data, ctx.spec)
        if not folder.is_ours(plane.home, ctx.spec) or not plane.home.state(RECORD).exists():
            return Observed(exists=False)  # the record is written before the first node
        if not daemons.listens(ctx.ports[SERVER]):
            # while nothing answers, the record says that there are some; they go with the store
            message = "The API server does not answer."
            return Observed(exists=True, in_sync=True, reason="ControlPlaneDown", message=message)
        client = plane_access.portal_client(ctx)
        try:
            ours = _by_name(client.list(NODES, labels=marks(ctx.spec)))
        finally:
            client.close()
        wanted = _wanted(ctx.spec)
        wrong = {
            name: found
            for name, node in wanted.items()
            if (found := node_drift.differences(ours.get(name), node))
        }
        beyond = sorted(ours.keys() - wanted.keys() - _spare(ctx.spec))
        fine = not wrong and not beyond
        return Observed(
            exists=True,
            in_sync=fine,
            ready=fine,
            reason="" if fine else "NodesDiffer",
            message="" if fine else f"To be made, mended or taken out: {', '.join(sorted(wrong) + beyond)}.",
            differences=(
                *(one for name in sorted(wrong) for one in wrong[name]),
                *(node_drift.too_much(name) for name in beyond),
            ),
            facts={"nodes": ",".join(sorted(ours))},
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Make or mend each node, take out what is too much."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        plane = planes.of(self._settings.data, ctx.spec)
        if not daemons.listens(ctx.ports[SERVER]):
            raise TemporaryError("ControlPlaneDown", "The API server does not answer.")
        client = plane_access.portal_client(ctx)
        try:
            present = _by_name(client.list(NODES))
            wanted = _wanted(ctx.spec)
            for name in wanted.keys() & present.keys():
                if not _is_ours(present[name], ctx.spec):
                    raise folder.name_taken(f"a node {name}")
            files.write_json(plane.home.state(RECORD), {"nodes": sorted(wanted)})
            for name, node in wanted.items():
                if node_drift.differences(present.get(name), node):
                    _apply(client, node)
            _take_out(client, ctx.spec, present, but=wanted.keys() | _spare(ctx.spec))
        finally:
            client.close()

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Take all of them out; without an API server they go with its store."""
        plane = planes.of(self._settings.data, ctx.spec)
        if not folder.is_ours(plane.home, ctx.spec) or not plane.home.state(RECORD).exists():
            return
        if daemons.listens(ctx.ports[SERVER]):
            client = plane_access.portal_client(ctx)
            try:
                _take_out(client, ctx.spec, _by_name(client.list(NODES, labels=marks(ctx.spec))), but=set())
            finally:
                client.close()
        plane.home.state(RECORD).unlink(missing_ok=True)


def _wanted(spec: ClusterSpec) -> dict[str, JSONDict]:
    return {
        names.label(machine): _node(spec, pool.name, pool.flavor, names.label(machine))
        for pool in spec.pools
        for machine in pool.machines
    }


def _node(spec: ClusterSpec, pool: str, flavor: FlavorSpec, name: str) -> JSONDict:
    labels = {
        **marks(spec),
        SIMULATED: "true",
        "freehold.io/pool": pool,
        "node.kubernetes.io/instance-type": flavor.name,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    gpus = {GPU: str(flavor.gpu_count)} if flavor.gpu_count else {}
    size = {"cpu": str(flavor.cpus), "memory": f"{flavor.memory_mib}Mi", "pods": PODS, **gpus}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Simulated",
        "message": "No kubelet stands behind this node.",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": f"freehold://{spec.name}/{name}"},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }


def _apply(client: KubeClient, node: JSONDict) -> None:
    main = {name: value for name, value in node.items() if name != "status"}
    wish = {**main, "spec": {**node["spec"], "taints": []}}
    # TaintNodesByCondition: a new Node is tainted until something says that it is ready
    if client.apply(wish, NODES)["spec"].get("taints"):
        client.apply(wish, NODES)
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    (ready,) = node["status"]["conditions"]
    beaten = {**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}
    status = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node["metadata"]["name"]}}
    client.apply(
        {**status, "status": {**node["status"], "conditions": [beaten]}}, NODES, subresource="status"
    )


def _take_out(client: KubeClient, spec: ClusterSpec, present: Mapping[str, Manifest], *, but: Any) -> None:
    for name, node in present.items():
        if name not in but and _is_ours(node, spec):
            client.delete(Ref(NODES, name), uid=str(node["metadata"]["uid"]))


def _by_name(nodes: tuple[Manifest, ...]) -> dict[str, Manifest]:
    return {str(node["metadata"]["name"]): node for node in nodes}


def _is_ours(node: Manifest, spec: ClusterSpec) -> bool:
    return contains(node["metadata"].get("labels") or {}, marks(spec))


def _spare(spec: ClusterSpec) -> frozenset[str]:
    return frozenset(names.label(machine) for machine in leaving(spec))
