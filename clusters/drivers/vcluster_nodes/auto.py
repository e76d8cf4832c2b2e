"""The nodes step where the tenant cluster's own auto nodes make the NodeClaims."""

from __future__ import annotations

import datetime as dt

from clusters.clients.kube.models import Manifest
from clusters.drivers.vcluster_nodes import claims
from clusters.drivers.vcluster_nodes.settings import NodesSettings
from clusters.kube.sinks import deleting
from clusters.kube.step import Clients
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext


class AutoNodesStep:
    """Nothing is made here: the control plane's values name the pools. It watches until all have joined.

    The control plane takes its nodes with it, and the machines step waits for the last claim; so there is
    nothing to remove. A step is told its own facts only when the cluster is to go.
    """

    name = "nodes"
    component = "vCluster Platform"
    needs: tuple[str, ...] = ("control-plane",)
    deadline = dt.timedelta(minutes=90)

    def __init__(self, settings: NodesSettings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per kind of node, for the plan on the approval page."""
        return tuple(
            f"{count} node{'' if count == 1 else 's'} of type {name}, claimed by the tenant cluster"
            for name, count in sorted(self._settings.wanted(spec).items())
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Count the nodes of each type that are available and have joined."""
        if self.name in ctx.facts:
            return Observed(exists=False)
        held = claims.held(self._clients(ctx), ctx.spec, self._settings.namespace(ctx.spec))
        facts = claims.facts(held)
        if failed := claims.failure(held):
            return Observed(True, reason=failed.reason, message=failed.message, facts=facts)
        reason, message = self._awaited(held, ctx.spec)
        return Observed(True, True, not reason, reason, message, facts=facts)

    def apply(self, ctx: StepContext) -> None:
        """There is nothing to ask for; nodes that failed are said."""
        held = claims.held(self._clients(ctx), ctx.spec, self._settings.namespace(ctx.spec))
        if failed := claims.failure(held):
            raise failed

    def remove(self, ctx: StepContext) -> None:
        """Nothing: see above."""

    def _awaited(self, held: tuple[Manifest, ...], spec: ClusterSpec) -> tuple[str, str]:
        for kind, count in sorted(self._settings.wanted(spec).items()):
            mine = [one for one in held if one["spec"].get("typeRef") == kind and not deleting(one)]
            states = [claims.progress(one) for one in mine]
            for state in states:
                if not state.ready:
                    return state.reason, state.message
            if len(mine) < count:
                return "NodesAwaited", f"{len(mine)} of {count} nodes of {kind} were claimed so far."
            if len(mine) > count:
                return "NodesLeaving", f"{len(mine) - count} nodes of {kind} are still to go."
        if going := sorted(one["metadata"]["name"] for one in held if deleting(one)):
            return "NodesLeaving", f"Still to go: {', '.join(going)}."
        return "", ""
