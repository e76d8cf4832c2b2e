"""The plan of a resize: machines that come, machines that would leave, and what each step changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clusters.models import Machine, Order, OrderLine
from clusters.picking import they_pick
from clusters.provisioning.context import cluster_spec, facts_of, flavor_spec, step_context
from clusters.provisioning.previews import preview_of
from clusters.provisioning.registry import steps_for
from clusters.provisioning.steps import ClusterSpec, PoolSpec
from clusters.services import shrinking
from clusters.services.plans import inputs_of
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict

Chosen = Sequence[tuple[OrderLine, list[Machine]]]


def resize_plan(order: Order, chosen: Chosen) -> JSONDict:
    """What `make_plan` stores for a resize. Who leaves is settled at the approval, idle ones first.

    Raises PermanentError.
    """
    if order.cluster is None:
        raise PermanentError("NoCluster", "The order names no cluster.")
    held = shrinking.candidates(order.cluster)
    leaving = {
        line.pool: [candidate.machine for candidate in held.get(line.pool, [])[: line.fewer]]
        for line, _ in chosen
    }
    before = cluster_spec(order.cluster)
    after = replace(before, pools=_pools(before, chosen, leaving, counted=they_pick(order.site)))
    ctx = replace(step_context(order.cluster), spec=after, facts=facts_of(order.cluster))
    return {
        "inputs": inputs_of(order),
        "cluster": before.name,
        "pools": [_pool(line, machines) for line, machines in chosen],
        "leaving": [
            {"name": machine.name, "pool": pool} for pool, machines in leaving.items() for machine in machines
        ],
        "steps": [
            {
                "name": step.name,
                "component": step.component,
                "needs": list(step.needs),
                "deadline_seconds": int(step.deadline.total_seconds()),
                **_difference(step.describe(before), step.describe(after)),
                **preview_of(step, ctx),
            }
            for step in steps_for(order.site, order.stack)
        ],
    }


def _pool(line: OrderLine, machines: Sequence[Machine]) -> JSONDict:
    return {
        "name": line.pool,
        "flavor": line.flavor.name,
        "before": line.count_before,
        "after": line.count,
        "machines": [{"id": str(machine.pk), "name": machine.name} for machine in machines],
    }


def _pools(
    before: ClusterSpec, chosen: Chosen, leaving: Mapping[str, Sequence[Machine]], *, counted: bool
) -> tuple[PoolSpec, ...]:
    known = {pool.name: pool.machines for pool in before.pools}
    pools = []
    for line, machines in chosen:
        gone = {machine.name for machine in leaving[line.pool]}
        names = {*known.get(line.pool, ()), *(machine.name for machine in machines)} - gone
        count = line.count if counted else 0
        if names or count:
            pools.append(PoolSpec(line.pool, flavor_spec(line.flavor), tuple(sorted(names)), count=count))
    return tuple(pools)


def _difference(before: Sequence[str], after: Sequence[str]) -> JSONDict:
    return {
        "makes": [line for line in after if line not in before],
        "ends": [line for line in before if line not in after],
    }
