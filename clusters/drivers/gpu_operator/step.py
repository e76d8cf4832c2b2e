"""The step "gpu": the operator, how the GPUs of each pool are divided, and GPUs seen on every node."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace

from clusters.clients.kube.client import MANAGER, KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.gpu_operator import ready, shapes
from clusters.drivers.gpu_operator.settings import GpuSettings
from clusters.kube import kinds, objects
from clusters.kube.gitops.installer import Installer
from clusters.kube.objects import Readiness, Wanted
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext


class GpuStep(ObjectsStep):
    """Nodes follow labels; each keeps the labels that it has otherwise."""

    name = "gpu"
    component = "NVIDIA GPU Operator"
    deadline = dt.timedelta(minutes=60)  # drivers are built on the nodes

    def __init__(
        self, settings: GpuSettings, clients: Clients, tenants: Clients, installer: Installer | None = None
    ) -> None:
        super().__init__(clients)
        self._settings = settings
        self._tenants = tenants
        self._installer = installer
        self.system = "the site's GitOps" if installer else "the tenant's cluster"
        self.needs = ("gitops", "nodes") if installer else ("control-plane", "access", "nodes")

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        how = f"{shapes.NAME} {self._settings.version}" if self._installer else "GPU policy"
        return (how, *(f"pool {pool.name}: {self._told(pool.flavor.name)}" for pool in ready.gpu_pools(spec)))

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        if self._installer is not None:
            return self._installer.scopes()
        return (Scope(kinds.CONFIG_MAP, shapes.NAMESPACE), Scope(shapes.POLICY))

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        if self._installer is not None:
            return self._installer.install(ctx.spec, self.name, (shapes.release(self._settings),))
        return shapes.objects_of(self._settings)

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        seen = super().observe(ctx)
        if not (seen.exists and seen.in_sync and seen.ready):
            return seen
        client = self._tenants(ctx)
        nodes = client.list(kinds.NODE)
        if wrong := sorted(node["metadata"]["name"] for node, _ in self._to_label(nodes, ctx.spec)):
            message = f"The GPUs of these nodes are to be divided otherwise: {', '.join(wrong)}."
            return replace(seen, in_sync=False, ready=False, reason="GpuSharingDiffers", message=message)
        state = self._works(client, nodes, ctx.spec)
        return replace(seen, ready=state.ready, reason=state.reason, message=state.message)

    def apply(self, ctx: StepContext) -> None:
        """See Step. Dividing GPUs anew ends what runs on them; only a changed setting leads to it."""
        super().apply(ctx)
        client = self._tenants(ctx)
        for node, labels in self._to_label(client.list(kinds.NODE), ctx.spec):
            client.apply(_labelled(node, labels), kinds.NODE)

    def _works(self, client: KubeClient, nodes: tuple[Manifest, ...], spec: ClusterSpec) -> Readiness:
        if not ready.gpu_pools(spec):
            return objects.READY
        if self._installer is not None:
            policy = client.get(Ref(shapes.POLICY, shapes.POLICY_NAME))
            if policy is None:
                return Readiness(False, "WorkloadMissing", "The GPU Operator has no policy yet.")
            state = ready.policy(policy)
            if not state.ready:
                return state
        return ready.nodes(nodes, spec, self._settings)

    def _to_label(
        self, nodes: tuple[Manifest, ...], spec: ClusterSpec
    ) -> Iterator[tuple[Manifest, dict[str, str]]]:
        """Nodes whose labels are not as wanted. Without any sharing at the site no node is labelled."""
        for pool in ready.gpu_pools(spec) if self._settings.sharing else ():
            labels = shapes.node_labels(self._settings, pool.flavor.name)
            for node in ready.of_pool(nodes, pool):
                found = node["metadata"].get("labels") or {}
                if any(found.get(name) != value for name, value in labels.items()):
                    yield node, labels

    def _told(self, flavor: str) -> str:
        sharing = self._settings.sharing.get(flavor)
        if sharing is None:
            return "whole GPUs"
        return (
            f"MIG profile {sharing.mig}" if sharing.mig else f"{sharing.slices} slices of time for each GPU"
        )


def _labelled(node: Manifest, labels: dict[str, str]) -> Manifest:
    """With the labels that we hold already: those left out would be taken away."""
    meta = node["metadata"]
    ours = {**_held(node), **labels}
    body = objects.manifest(kinds.NODE, meta["name"], {}, labels=ours)
    return {**body, "metadata": {**body["metadata"], "uid": meta["uid"]}}


def _held(node: Manifest) -> dict[str, str]:
    found = node["metadata"].get("labels") or {}
    held: dict[str, str] = {}
    for entry in node["metadata"].get("managedFields") or ():
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply":
            fields = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
            names = (name.removeprefix("f:") for name in fields if name.startswith("f:"))
            held |= {name: found[name] for name in names if name in found}
    return held
