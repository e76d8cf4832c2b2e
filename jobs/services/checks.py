"""Whether a request can ever run in the cluster as last seen; pure, with messages by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusters.clients.slurmrest.models import GpuRequest, Unlimited
from jobs.parsing.array import parse_array
from jobs.parsing.memory import show_memory
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import show_time_limit
from jobs.services.capacity import ClusterView, PartitionView

Problems = Iterator[tuple[str, str]]


def check(values: Mapping[str, object], view: ClusterView) -> dict[str, str]:
    """Field to message; empty when nothing speaks against it. Free capacity is no reason: a job may wait."""
    problems = dict(_memory_kinds(values)) | dict(_array(values, view))
    if not view.partitions:
        return problems
    name = values.get("partition")
    partition = view.find(name if isinstance(name, str) else None)
    if partition is None:
        there = ", ".join(known.name for known in view.partitions)
        told = (
            f"There is no partition {name} here. There are: {there}." if name else f"Choose one of: {there}."
        )
        return problems | {"partition": told}
    if not partition.is_open:
        problems["partition"] = f"Partition {partition.name} takes no jobs at the moment."
    for part in (_nodes, _cpus, _gpus, _memory, _time):
        problems |= dict(part(values, partition))
    return problems


def _number(values: Mapping[str, object], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


def _memory_kinds(values: Mapping[str, object]) -> Problems:
    if values.get("memory_mib") is not None and values.get("memory_per_cpu_mib") is not None:
        yield "memory_mib", "Memory per node and memory per CPU cannot both be set. Keep one of them."


def _array(values: Mapping[str, object], view: ClusterView) -> Problems:
    text = values.get("array")
    if isinstance(text, str):
        try:
            parse_array(text, max_size=view.max_array_size)
        except Refusal as refusal:
            yield "array", str(refusal)


def _nodes(values: Mapping[str, object], partition: PartitionView) -> Problems:
    nodes = _number(values, "nodes")
    most = min(partition.total_nodes, partition.max_nodes or partition.total_nodes)
    if nodes is not None and nodes > most:
        yield "nodes", f"Partition {partition.name} has {most} {'node' if most == 1 else 'nodes'} for a job."


def _cpus(values: Mapping[str, object], partition: PartitionView) -> Problems:
    each = _number(values, "cpus_per_task") or 1
    if partition.node_cpus and each > partition.node_cpus:
        yield "cpus_per_task", f"The nodes of {partition.name} have {partition.node_cpus} CPUs."
        return
    tasks = _number(values, "tasks")
    if tasks is not None and partition.total_cpus and tasks * each > partition.total_cpus:
        needed = f"{tasks} tasks need {tasks * each} CPUs" if each > 1 else f"{tasks} tasks need as many CPUs"
        yield "tasks", f"{needed}; partition {partition.name} has {partition.total_cpus}."


def _gpus(values: Mapping[str, object], partition: PartitionView) -> Problems:
    request = values.get("gpus")
    if not isinstance(request, GpuRequest):
        return
    if not partition.node_gpus and not partition.gpus:
        yield "gpus", f"Partition {partition.name} has no GPUs."
    elif request.model and partition.gpu_models and request.model not in partition.gpu_models:
        yield (
            "gpus",
            f"Partition {partition.name} has no {request.model}, but {', '.join(partition.gpu_models)}.",
        )
    elif request.per == "node" and partition.node_gpus and request.count > partition.node_gpus:
        more = " Ask for more nodes." if partition.total_nodes > 1 else ""
        yield "gpus", f"The nodes of {partition.name} have {partition.node_gpus} GPUs each.{more}"
    elif request.per == "job" and partition.gpus and request.count > partition.gpus:
        yield "gpus", f"Partition {partition.name} has {partition.gpus} GPUs in all."


def _memory(values: Mapping[str, object], partition: PartitionView) -> Problems:
    for name in ("memory_mib", "memory_per_cpu_mib"):
        memory = _number(values, name)
        if memory is not None and partition.node_memory and memory > partition.node_memory:
            yield name, f"The nodes of {partition.name} have {show_memory(partition.node_memory)}."


def _time(values: Mapping[str, object], partition: PartitionView) -> Problems:
    limit = values.get("time_limit_minutes")
    if partition.max_time is None or limit is None:
        return
    if isinstance(limit, Unlimited) or (isinstance(limit, int) and limit > partition.max_time):
        most = show_time_limit(partition.max_time)
        none = "0 and UNLIMITED ask for no limit. " if isinstance(limit, Unlimited) else ""
        yield "time_limit_minutes", f"{none}Partition {partition.name} allows at most {most} (d-hh:mm:ss)."
