"""What a job asked for, was given and used, side by side."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils.formats import localize
from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import GpuRequest
from jobs.models import Job, JobState
from jobs.parsing.gpus import show_gpus, wanted_gpus
from jobs.parsing.memory import show_memory

NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Resource:
    """One line of the table."""

    label: str
    asked: str = NOTHING
    given: str = NOTHING
    used: str = NOTHING


def resources_of(row: Job, request: Mapping[str, Any] | None) -> list[Resource]:
    """Of a job with the request that was sent, where it was sent through the portal.

    What Slurm tells of a job that waits is what it asks for, and later what it was given.
    """
    given = {"nodes": _number(row.node_count), "cpus": _number(row.cpus), "gpus": _number(row.gpus)}
    given["memory"] = _memory(row.memory_mib, row.memory_per_cpu_mib)
    asked = _asked(request or {})
    if row.state == JobState.PENDING:
        asked, given = {**given, **asked}, {}
    used = _used(row)
    labels = {"nodes": _("Nodes"), "cpus": _("CPUs"), "gpus": _("GPUs"), "memory": _("Memory")}
    return [
        Resource(label, asked.get(name) or NOTHING, given.get(name) or NOTHING, used.get(name) or NOTHING)
        for name, label in labels.items()
    ]


def asked_time(row: Job, request: Mapping[str, Any] | None) -> dt.timedelta | None:
    """The time limit of the request, or of a job that waits; None where none is known."""
    minutes = (request or {}).get("time_limit_minutes")
    if isinstance(minutes, int):
        return dt.timedelta(minutes=minutes)
    return row.time_limit if row.state == JobState.PENDING else None


def _asked(request: Mapping[str, Any]) -> dict[str, str]:
    values = dict(request)
    if isinstance(values.get("gpus"), dict):
        values["gpus"] = msgspec.convert(values["gpus"], GpuRequest)
    tasks, each = values.get("tasks"), values.get("cpus_per_task")
    cpus = (tasks or 1) * (each or 1) if tasks or each else None
    return {
        name: text
        for name, text in {
            "nodes": _number(values.get("nodes")),
            "cpus": _number(cpus),
            "gpus": ", ".join(show_gpus(wanted) for _name, wanted in wanted_gpus(values)),
            "memory": _memory(values.get("memory_mib"), values.get("memory_per_cpu_mib")),
        }.items()
        if text
    }


def _used(row: Job) -> dict[str, str]:
    """As accounting gathered it; nothing before the job ended."""
    use = None if row.is_active else getattr(row, "use", None)
    if use is None:
        return {}
    found = {"cpus": _percent(use.cpu_percent), "gpus": _percent(use.gpu_percent)}
    if use.memory_mib is not None:
        found["memory"] = show_memory(use.memory_mib)
    return found


def _percent(value: float | None) -> str:
    return "" if value is None else f"{localize(round(value))} %"


def _number(value: object) -> str:
    return str(value) if isinstance(value, int | str) and value != "" else ""


def _memory(per_node: int | None, per_cpu: int | None) -> str:
    if per_node == 0:
        return show_memory(per_node)
    if per_node is not None:
        return _("%(memory)s per node") % {"memory": show_memory(per_node)}
    if per_cpu is not None:
        return _("%(memory)s per CPU") % {"memory": show_memory(per_cpu)}
    return ""
