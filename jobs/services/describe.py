"""A merged request in words, each value with where it came from; for the form's preview and the job page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import GpuRequest, Unlimited
from jobs.parsing.array import parse_array
from jobs.parsing.gpus import show_gpus
from jobs.parsing.memory import show_memory
from jobs.parsing.time_limit import show_time_limit
from jobs.services.capacity import ClusterView
from jobs.services.drafts import Draft
from portal.lib.types import JSONDict, Words

LABELS: dict[str, Words] = {
    "name": _("Name"),
    "partition": _("Partition"),
    "nodes": _("Nodes"),
    "tasks": _("Tasks"),
    "cpus_per_task": _("CPUs per task"),
    "gpus": _("GPUs"),
    "memory_mib": _("Memory per node"),
    "memory_per_cpu_mib": _("Memory per CPU"),
    "time_limit_minutes": _("Time limit"),
    "array": _("Array"),
    "working_directory": _("Working directory"),
    "stdout": _("Output file"),
    "stderr": _("Error file"),
    "account": _("Slurm account"),
    "qos": _("QOS"),
    "reservation": _("Reservation"),
    "dependency": _("Dependency"),
    "comment": _("Comment"),
}


_ORIGINS = {"form": _("form"), "default": _("default"), "Slurm's default": _("Slurm's default")}


@dataclass(frozen=True, slots=True)
class Line:
    """One value of a request."""

    label: Words
    value: str
    origin: str  # form, line 3, default, Slurm's default: kept and told to programs as it is

    @property
    def source(self) -> str:
        """The origin in words."""
        if self.origin.startswith("line "):
            return gettext("line %(line)s") % {"line": self.origin.removeprefix("line ")}
        return str(_ORIGINS.get(self.origin, self.origin))


def of_request(request: JSONDict, origins: Mapping[str, str]) -> list[Line]:
    """What was sent, as it was kept."""
    values = dict(request)
    if isinstance(values.get("gpus"), dict):
        values["gpus"] = msgspec.convert(values["gpus"], GpuRequest)
    if values.get("time_limit_minutes") == Unlimited.UNLIMITED.value:
        values["time_limit_minutes"] = Unlimited.UNLIMITED
    return _lines(values, origins)


def of_draft(draft: Draft, view: ClusterView) -> list[Line]:
    """What would be sent, and what Slurm or we would choose for the rest."""
    lines = _lines(draft.values, draft.origins)
    partition = view.find(str(draft.values["partition"])) if "partition" in draft.values else view.default
    if "partition" not in draft.values and partition is not None:
        lines.append(Line(LABELS["partition"], partition.name, "Slurm's default"))
    if "time_limit_minutes" not in draft.values and partition is not None and partition.default_time:
        shown = show_time_limit(partition.default_time)
        lines.append(Line(LABELS["time_limit_minutes"], shown, "Slurm's default"))
    if "working_directory" not in draft.values:
        lines.append(Line(LABELS["working_directory"], gettext("your home in the cluster"), "default"))
    if "stdout" not in draft.values:
        pattern = "slurm-%A_%a.out" if "array" in draft.values else "slurm-%j.out"
        lines.append(Line(LABELS["stdout"], pattern, "Slurm's default"))
    if draft.environment:
        lines.append(Line(_("Environment"), ", ".join(sorted(draft.environment)), "form"))
    return lines


def gpu_hours(draft: Draft, view: ClusterView) -> float | None:
    """The most that it can use, over all tasks of an array; None without GPUs or without a time limit."""
    request, limit = draft.values.get("gpus"), draft.values.get("time_limit_minutes")
    partition = view.find(str(draft.values["partition"])) if "partition" in draft.values else view.default
    if limit is None and partition is not None:
        limit = partition.default_time
    if not isinstance(request, GpuRequest) or not isinstance(limit, int):
        return None
    nodes = draft.values.get("nodes")
    count = request.count * (nodes if request.per == "node" and isinstance(nodes, int) else 1)
    array = parse_array(str(draft.values["array"])) if "array" in draft.values else None
    return count * limit / 60 * (array.count if array else 1)


def _lines(values: Mapping[str, object], origins: Mapping[str, str]) -> list[Line]:
    return [
        Line(label, _show(name, values[name]), origins.get(name, "default"))
        for name, label in LABELS.items()
        if values.get(name) is not None
    ]


def _show(name: str, value: object) -> str:
    if isinstance(value, GpuRequest):
        return show_gpus(value)
    if name.startswith("memory") and isinstance(value, int):
        return show_memory(value)
    if name == "time_limit_minutes" and isinstance(value, int | Unlimited):
        return show_time_limit(value)
    if name == "array" and isinstance(value, str):
        array = parse_array(value)
        return f"{value}: {array.preview}" if array else value
    return str(value)


def as_typed(name: str, value: object) -> str:
    """A kept value as a person would type it into the form again."""
    if name == "gpus" and isinstance(value, dict):
        return f"{value['model']}:{value['count']}" if value.get("model") else str(value["count"])
    if name == "time_limit_minutes":
        return show_time_limit(value if isinstance(value, int) else Unlimited.UNLIMITED)
    return str(value)
