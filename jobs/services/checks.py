"""Whether a request can ever run in the cluster as last seen; pure, with messages by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from clusters.clients.slurmrest.models import GpuRequest, Unlimited
from jobs.parsing.array import parse_array
from jobs.parsing.client import hosts_of
from jobs.parsing.gpus import wanted_gpus
from jobs.parsing.memory import show_memory
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import show_time_limit
from jobs.services.capacity import ClusterView, PartitionView
from portal.lib.types import Words

Problems = Iterator[tuple[str, str]]
_LICENSE = re.compile(r"([^\s,;|:=@]+)(?:@[^\s,;|:=]+)?(?:[:=](\d{1,9}))?", re.ASCII)


def check(values: Mapping[str, object], view: ClusterView) -> dict[str, str]:
    """Field to message; empty when nothing speaks against it. Free capacity is no reason: a job may wait."""
    problems = dict(_memory_kinds(values)) | dict(_array(values, view)) | dict(_names(values, view))
    if not view.partitions:
        return problems
    chosen = _chosen(values, view)
    if missing := [name for name, partition in chosen if partition is None]:
        told = _("There is no partition %(name)s here. There are: %(there)s.")
        there = ", ".join(known.name for known in view.partitions)
        return problems | {"partition": told % {"name": missing[0], "there": there}}
    # of several partitions the first that fits is taken, so a reason holds if it holds in each of them
    found = [_in_partition(values, partition) for _name, partition in chosen if partition is not None]
    return problems | (found[-1] if all(found) else {})


def _chosen(values: Mapping[str, object], view: ClusterView) -> list[tuple[str, PartitionView | None]]:
    """Where it may run, by name; None for what is not there.

    v0.0.40 to v0.0.44 do not say which partition is the default, so it may be any. A cluster without one
    refuses the job itself.
    """
    named = values.get("partition")
    if isinstance(named, str):
        return [(name, view.find(name)) for name in named.split(",")]
    return [(one.name, one) for one in ([view.default] if view.default else view.partitions)]


def notes(values: Mapping[str, object], view: ClusterView) -> Iterator[Words]:
    """What the cluster did not have when it was looked at; it may have it by now: no reason to stop."""
    named = values.get("reservation")
    if view.reservations is not None and isinstance(named, str):
        for name in sorted(set(named.split(",")) - view.reservations):
            told = gettext_lazy("No reservation {name} was there when the cluster was last looked at.")
            yield format_lazy(told, name=name)
    wanted = values.get("licenses")
    if view.licenses is not None and isinstance(wanted, str):
        for name, count in _LICENSE.findall(wanted):
            there = view.licenses.get(name, 0)
            if there < int(count or 1):
                told = gettext_lazy("There were {there} licences {name} when the cluster was last looked at.")
                yield format_lazy(told, there=there, name=name)


def _names(values: Mapping[str, object], view: ClusterView) -> Problems:
    """Nodes that are named and are not there."""
    for field in ("nodelist", "exclude"):
        named = hosts_of(str(values.get(field) or ""))
        if view.node_names and (unknown := named - view.node_names):
            told = _("There is no node %(name)s here.")
            yield field, told % {"name": ", ".join(sorted(unknown)[:5])}


def _in_partition(values: Mapping[str, object], partition: PartitionView) -> dict[str, str]:
    problems: dict[str, str] = {}
    if not partition.is_open:
        told = _("Partition %(name)s takes no jobs at the moment.")
        problems["partition"] = told % {"name": partition.name}
    for part in (_nodes, _cpus, _gpus, _memory, _time):
        problems |= dict(part(values, partition))
    return problems


def _number(values: Mapping[str, object], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


def _memory_kinds(values: Mapping[str, object]) -> Problems:
    fields = ("memory_mib", "memory_per_cpu_mib", "memory_per_gpu_mib")
    told = [name for name in fields if values.get(name) is not None]
    if told == ["memory_mib", "memory_per_cpu_mib"]:
        yield "memory_mib", _("Memory per node and memory per CPU cannot both be set. Keep one of them.")
    elif len(told) > 1:
        yield told[0], _("Memory per node, per CPU and per GPU cannot be set together. Keep one of them.")


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
        told = ngettext(
            "Partition %(name)s has %(most)d node for a job.",
            "Partition %(name)s has %(most)d nodes for a job.",
            most,
        )
        yield "nodes", told % {"name": partition.name, "most": most}


def _cpus(values: Mapping[str, object], partition: PartitionView) -> Problems:
    each = _number(values, "cpus_per_task") or 1
    if partition.node_cpus and each > partition.node_cpus:
        told = _("The nodes of %(name)s have %(count)d CPUs.")
        yield "cpus_per_task", told % {"name": partition.name, "count": partition.node_cpus}
        return
    tasks = _number(values, "tasks")
    if values.get("overcommit"):
        return
    if tasks is not None and partition.total_cpus and tasks * each > partition.total_cpus:
        told = _("%(tasks)d tasks need %(cpus)d CPUs; partition %(name)s has %(there)d.")
        if each == 1:
            told = _("%(tasks)d tasks need as many CPUs; partition %(name)s has %(there)d.")
        there = {"name": partition.name, "there": partition.total_cpus}
        yield "tasks", told % {"tasks": tasks, "cpus": tasks * each, **there}


def _gpus(values: Mapping[str, object], partition: PartitionView) -> Problems:
    for name, request in wanted_gpus(values):
        yield from ((name, message) for message in _gpu_problems(request, partition))


def _gpu_problems(request: GpuRequest, partition: PartitionView) -> Iterator[str]:
    if not partition.node_gpus and not partition.gpus:
        yield _("Partition %(name)s has no GPUs.") % {"name": partition.name}
    elif request.model and partition.gpu_models and request.model not in partition.gpu_models:
        there = {"model": request.model, "models": ", ".join(partition.gpu_models)}
        yield _("Partition %(name)s has no %(model)s, but %(models)s.") % {"name": partition.name, **there}
    elif request.per == "node" and partition.node_gpus and request.count > partition.node_gpus:
        told = _("The nodes of %(name)s have %(count)d GPUs each.")
        if partition.total_nodes > 1:
            told = _("The nodes of %(name)s have %(count)d GPUs each. Ask for more nodes.")
        yield told % {"name": partition.name, "count": partition.node_gpus}
    elif request.per == "job" and partition.gpus and request.count > partition.gpus:
        told = _("Partition %(name)s has %(count)d GPUs in all.")
        yield told % {"name": partition.name, "count": partition.gpus}


def _memory(values: Mapping[str, object], partition: PartitionView) -> Problems:
    for name in ("memory_mib", "memory_per_cpu_mib"):
        memory = _number(values, name)
        if memory is not None and partition.node_memory and memory > partition.node_memory:
            told = _("The nodes of %(name)s have %(memory)s.")
            yield name, told % {"name": partition.name, "memory": show_memory(partition.node_memory)}


def _time(values: Mapping[str, object], partition: PartitionView) -> Problems:
    limit = values.get("time_limit_minutes")
    if partition.max_time is None or limit is None:
        return
    if isinstance(limit, Unlimited) or (isinstance(limit, int) and limit > partition.max_time):
        most = show_time_limit(partition.max_time)
        told = _("Partition %(name)s allows at most %(most)s (d-hh:mm:ss).")
        if isinstance(limit, Unlimited):
            told = _(
                "0 and UNLIMITED ask for no limit. Partition %(name)s allows at most %(most)s (d-hh:mm:ss)."
            )
        yield "time_limit_minutes", told % {"name": partition.name, "most": most}
