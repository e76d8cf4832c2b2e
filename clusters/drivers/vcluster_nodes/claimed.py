"""The nodes step where we make the NodeClaims."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.vcluster_nodes import claims
from clusters.drivers.vcluster_nodes.claims import NODE_CLAIM
from clusters.drivers.vcluster_nodes.settings import NodesSettings, count_of
from clusters.kube.objects import Wanted, manifest
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, PoolSpec, StepContext


class ClaimedNodesStep(ObjectsStep):
    """One claim per node. Which machine serves it is the Platform's choice."""

    name = "nodes"
    component = "vCluster Platform"
    system = "the control plane cluster"
    needs = ("control-plane",)
    deadline = dt.timedelta(minutes=90)

    def __init__(self, settings: NodesSettings, clients: Clients) -> None:
        super().__init__(clients)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"node claim {_name(spec, pool, number)} of type {self._settings.type_of(pool)}"
            for pool in spec.pools
            for number in range(count_of(pool))
        )

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """Claims of the cluster's own project."""
        return (Scope(NODE_CLAIM, self._settings.namespace(ctx.spec)),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """A claim for each node."""
        return tuple(
            Wanted(NODE_CLAIM, self._claim(ctx.spec, pool, number), ready=claims.progress)
            for pool in ctx.spec.pools
            for number in range(count_of(pool))
        )

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """Which nodes the cluster holds."""
        del ctx
        return claims.facts(found.values())

    def observe(self, ctx: StepContext) -> Observed:
        """As ObjectsStep; a claim that the Platform gave up is out of sync, so that apply says so."""
        told = super().observe(ctx)
        if not told.in_sync or not (failed := told.facts.get("failed")):
            return told
        message = f"The Platform could not give these nodes: {failed}."
        return replace(told, in_sync=False, ready=False, reason="NodeFailed", message=message)

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        super().apply(ctx)
        batch = self.batch(ctx)
        if failed := claims.failure(self.sink(ctx).read(batch).ours.values()):
            raise failed

    def _claim(self, spec: ClusterSpec, pool: PoolSpec, number: int) -> Manifest:
        kind = self._settings.type_of(pool)
        body = {"providerRef": kind.partition(".")[0], "typeRef": kind, "vClusterRef": spec.name}
        if self._settings.profile:
            body["profileRef"] = self._settings.profile
        labels = {"freehold.io/pool": pool.name}
        namespace = self._settings.namespace(spec)
        name = _name(spec, pool, number)
        return manifest(NODE_CLAIM, name, {"spec": body}, namespace=namespace, labels=labels)


def _name(spec: ClusterSpec, pool: PoolSpec, number: int) -> str:
    return f"{spec.name}-{pool.name}-{number}"
