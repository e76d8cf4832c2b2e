"""The nodes step where machines join by themselves or by hand: waits for each, and labels it by its pool."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from clusters.clients.kube.models import Manifest
from clusters.drivers.joined.settings import JoinedSettings
from clusters.kube import kinds
from clusters.kube.objects import condition_of
from clusters.kube.step import Clients
from clusters.provisioning.steps import ClusterSpec, Difference, Observed, StepContext

POOL = "freehold.io/pool"
OPERATOR = "an operator"


class JoinedNodesStep:
    """A machine's node bears the machine's name. Nodes go with their control plane: nothing to remove.

    A step is told its own facts only when the cluster is to go.
    """

    name = "nodes"
    component = "vCluster"
    needs: tuple[str, ...] = ("control-plane", "access", "machines")
    deadline = dt.timedelta(minutes=90)

    def __init__(self, settings: JoinedSettings, clients: Clients) -> None:
        self._settings = settings
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per node, for the plan on the approval page."""
        how = "joins by an operator's hand" if self._settings.by_hand else "joins by itself"
        return tuple(
            f"node {machine} of pool {pool.name}, which {how}"
            for pool in spec.pools
            for machine in pool.machines
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Which machines have joined, and whether each is ready and labelled."""
        if self.name in ctx.facts:
            return Observed(exists=False)
        found = self._nodes(ctx)
        wanted = {machine: pool.name for pool in ctx.spec.pools for machine in pool.machines}
        facts = {"nodes": ",".join(sorted(wanted.keys() & found.keys()))}
        if missing := sorted(wanted.keys() - found.keys()):
            return self._awaited(missing, facts)
        differing = tuple(_differences(wanted, found))
        if differing:
            first = differing[0]
            message = f"{first.thing} is in pool {first.found or 'none'}, wanted {first.wanted}."
            return Observed(
                True, reason="Drift", message=message, differences=differing, routine=True, facts=facts
            )
        if down := sorted(name for name in wanted if not _is_ready(found[name])):
            message = f"Not ready yet: {', '.join(down)}."
            return Observed(True, True, reason="NodesNotReady", message=message, facts=facts)
        return Observed(True, True, True, facts=facts)

    def apply(self, ctx: StepContext) -> None:
        """Label what has joined; nodes are never made."""
        client, found = self._clients(ctx), self._nodes(ctx)
        wanted = {machine: pool.name for pool in ctx.spec.pools for machine in pool.machines}
        for one in _differences(wanted, found):
            name = one.thing.removeprefix("Node ")
            # with its uid: only this very node, and none is made
            meta = {"name": name, "uid": found[name]["metadata"]["uid"], "labels": {POOL: one.wanted}}
            client.apply({"apiVersion": "v1", "kind": "Node", "metadata": meta}, kinds.NODE)

    def remove(self, ctx: StepContext) -> None:
        """Nothing: see above."""

    def _awaited(self, missing: list[str], facts: Mapping[str, str]) -> Observed:
        names = ", ".join(missing)
        if not self._settings.by_hand:
            return Observed(True, True, reason="JoinAwaited", message=f"Still to join: {names}.", facts=facts)
        message = (
            f"Still to join: {names}. Run what `manage.py join_command` prints on each of them,"
            " with --node-name and the machine's name."
        )
        return Observed(True, True, reason="JoinAwaited", message=message, waits_for=OPERATOR, facts=facts)

    def _nodes(self, ctx: StepContext) -> dict[str, Manifest]:
        return {str(one["metadata"]["name"]): one for one in self._clients(ctx).list(kinds.NODE)}


def _differences(wanted: Mapping[str, str], found: Mapping[str, Manifest]) -> Iterator[Difference]:
    for name, pool in sorted(wanted.items()):
        if name in found:
            there = (found[name]["metadata"].get("labels") or {}).get(POOL, "")
            if there != pool:
                yield Difference(f"Node {name}", f"metadata.labels.{POOL}", pool, there)


def _is_ready(node: Manifest) -> bool:
    condition = condition_of(node, "Ready")
    return condition is not None and condition.get("status") == "True"
