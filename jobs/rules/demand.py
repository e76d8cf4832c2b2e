"""The least that one job of a request can do with, in Slurm's names: what is over a limit is so for sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.parsing.array import parse_array
from jobs.parsing.client import work_out
from jobs.parsing.gpus import counted, wanted_gpus
from jobs.parsing.options.table import Target

FIELDS = {"cpu": "cpus_per_task", "node": "nodes", "mem": "memory_mib"}


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one job, or of one task of an array."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)  # beside which a resource is told
    nodes: int = 1
    tasks: int = 1  # of the array
    is_whole: bool = False  # whole nodes: it gets more than it asks for

    def field_of(self, name: str) -> str:
        """The field of a request that asks for a resource."""
        return self.fields.get(name, FIELDS.get(name, "qos"))


def demand_of(values: Mapping[str, object], target: Target) -> Demand:
    """Counted as sbatch of that release counts."""
    worked = dict(values)
    work_out(worked, target)
    nodes = max(_number(worked, "nodes"), _number(worked, "min_nodes"), 1)
    cpus = max(_number(worked, "min_cpus"), nodes)
    amounts, fields = {"cpu": cpus, "node": nodes}, {}
    if not _number(values, "cpus_per_task"):
        fields["cpu"] = "tasks"
    memory = _number(worked, "memory_mib") * nodes or _number(worked, "memory_per_cpu_mib") * cpus
    if memory:
        amounts["mem"] = memory
        fields["mem"] = "memory_mib" if worked.get("memory_mib") else "memory_per_cpu_mib"
    for name, count, told in _gpus(worked, nodes):
        amounts[name] = amounts.get(name, 0) + count
        fields[name] = told
    array = parse_array(str(values["array"])) if values.get("array") else None
    return Demand(
        amounts=amounts,
        fields=fields,
        nodes=nodes,
        tasks=array.count if array else 1,
        is_whole=values.get("sharing") == "exclusive" or values.get("memory_mib") == 0,
    )


def _gpus(values: Mapping[str, object], nodes: int) -> list[tuple[str, int, str]]:
    """(resource, how many, field), once for all GPUs and once for those of a model."""
    by_field: dict[str, list[tuple[str, int]]] = {}
    for name, request in wanted_gpus(values):
        count = request.count * (nodes if request.per == "node" else 1)
        by_field.setdefault(name, []).append((request.model, count))
    if text := str(values.get("gpus_per_task") or ""):
        tasks = max(_number(values, "tasks"), 1)
        each = [counted(one).rpartition(":") for one in text.split(",")]
        by_field["gpus_per_task"] = [(model, int(count) * tasks) for model, _colon, count in each]
    if not by_field:
        return []
    # several options may speak of the same GPUs: the one that wants most counts
    field_, found = max(by_field.items(), key=lambda item: sum(count for _model, count in item[1]))
    whole = ("gres/gpu", sum(count for _model, count in found), field_)
    return [whole, *((f"gres/gpu:{model}", count, field_) for model, count in found if model)]


def _number(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
