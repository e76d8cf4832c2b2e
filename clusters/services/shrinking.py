"""Which machines leave a pool that shrinks: those that do not work, then idle ones, busy ones last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusters.models import Allocation, AllocationStage, Cluster, Machine, Node, StepState


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine of a pool, with its node as it was last seen."""

    machine: Machine
    node: Node | None  # None: never seen

    @property
    def is_busy(self) -> bool:
        """Jobs were on it at the last look; of a node that was never seen nobody knows."""
        if self.node is None:
            return False
        used = self.node.cpus_used or self.node.gpus_used
        return (
            bool(used)
            or self.node.state.startswith(("ALLOCATED", "MIXED"))
            or "COMPLETING" in self.node.state
        )

    @property
    def rank(self) -> tuple[int, int]:
        """Lower leaves first."""
        if self.is_busy:
            return 3, self.node.cpus_used if self.node else 0
        if self.node is None:
            return 2, 0
        return (1 if self.node.available else 0), 0


def candidates(cluster: Cluster) -> dict[str, list[Candidate]]:
    """The machines of each pool in the order in which they would leave."""
    nodes = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    named = _node_names(cluster)
    found: dict[str, list[Candidate]] = {}
    rows = (
        Allocation.objects.filter(pool__cluster=cluster, released_at=None, stage=AllocationStage.HELD)
        .select_related("machine", "pool")
        .order_by("-machine__name")  # of equals the last one
    )
    for row in rows:
        node = nodes.get(named.get(row.machine.name, row.machine.name))
        found.setdefault(row.pool.name, []).append(Candidate(row.machine, node))
    return {pool: sorted(rows, key=lambda row: row.rank) for pool, rows in found.items()}


def _node_names(cluster: Cluster) -> Mapping[str, str]:
    """Node by machine, where the two are called differently, as the slurm step tells it."""
    state = StepState.objects.filter(cluster=cluster, name="slurm").first()
    told = str(state.facts.get("nodes", "")).split(",") if state else []
    pairs = (entry.partition("=") for entry in told)
    return {machine or node: node for node, _, machine in pairs}
