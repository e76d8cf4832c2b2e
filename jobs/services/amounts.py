"""How much a request can use at most, before anybody presses Submit: GPU-hours, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from jobs.parsing.array import parse_array
from jobs.parsing.gpus import wanted_gpus
from jobs.services.capacity import ClusterView, PartitionView
from jobs.services.drafts import Draft

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Amounts:
    """Over all tasks of an array and all components, if each runs to its time limit. None: not known."""

    gpu_hours: float | None = None
    cost: Decimal | None = None  # the share of the nodes, at the price that was agreed for their pool


def amounts_of(draft: Draft, view: ClusterView) -> Amounts:
    """What the request can use; not known without a time limit."""
    parts = [_of_part(values, view) for values in (draft.values, *draft.more)]
    hours = [part.gpu_hours for part in parts if part.gpu_hours is not None]
    costs = [part.cost for part in parts if part.cost is not None]
    is_whole = len(costs) == len(parts)
    return Amounts(sum(hours) if hours else None, sum(costs, Decimal(0)).quantize(CENT) if is_whole else None)


def _of_part(values: Mapping[str, object], view: ClusterView) -> Amounts:
    named = values.get("partition")
    partition = view.find(named.split(",")[0] if isinstance(named, str) else None)
    limit = values.get("time_limit_minutes")
    if limit is None and partition is not None:
        limit = partition.default_time
    if not isinstance(limit, int):
        return Amounts()
    array = parse_array(str(values["array"])) if "array" in values else None
    hours = limit / 60 * (array.count if array else 1)
    gpus = _gpus(values)
    return Amounts(gpus * hours if gpus else None, _cost(values, gpus, hours, partition))


def _nodes(values: Mapping[str, object]) -> int:
    """As many as it may get."""
    told = [
        value for name in ("max_nodes", "nodes", "min_nodes") if isinstance(value := values.get(name), int)
    ]
    return told[0] if told else 1


def _gpus(values: Mapping[str, object]) -> int:
    """In all: those that are asked for in all, of each node or for each task, whichever are more."""
    wanted = [request for _name, request in wanted_gpus(values)]
    per_job = sum(request.count for request in wanted if request.per == "job")
    per_node = sum(request.count for request in wanted if request.per == "node") * _nodes(values)
    tasks = values.get("tasks")
    per_task = sum(
        int(one.rpartition(":")[2]) for one in str(values.get("gpus_per_task") or "").split(",") if one
    )
    return max(per_job, per_node, per_task * (tasks if isinstance(tasks, int) else 1))


def _cost(
    values: Mapping[str, object], gpus: int, hours: float, partition: PartitionView | None
) -> Decimal | None:
    """The larger of the shares of GPUs and of CPUs; of whole nodes, all of them."""
    if partition is None or partition.price_per_hour is None:
        return None
    cpus = values.get("min_cpus")
    shares = [
        gpus / partition.node_gpus if partition.node_gpus else 0,
        cpus / partition.node_cpus if partition.node_cpus and isinstance(cpus, int) else 0,
    ]
    if values.get("sharing") == "exclusive" or values.get("memory_mib") == 0:
        shares.append(_nodes(values))
    return partition.price_per_hour * Decimal(max(shares) * hours)
