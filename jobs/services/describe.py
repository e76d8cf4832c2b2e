"""A merged request in words, each value with where it came from; for the form's preview and the job page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import GpuRequest, Unlimited
from jobs.parsing.array import parse_array
from jobs.parsing.gpus import show_gpus
from jobs.parsing.memory import show_memory
from jobs.parsing.moments import show_moment
from jobs.parsing.options.export import Export
from jobs.parsing.time_limit import show_time_limit
from jobs.services.capacity import ClusterView
from jobs.services.drafts import Draft
from jobs.services.labels import LABELS
from portal.lib.types import JSONDict, Words

__all__ = ["LABELS", "Line", "as_typed", "of_draft", "of_request"]
_UNSAID = {
    ("hold", "False"),
    ("min_cpus", "1"),
    ("oom_kill_step", "configured"),
}  # nobody asked for it, and it changes nothing
_ORIGINS = {
    "form": _("form"),
    "API": "API",
    "default": _("default"),
    "sbatch": _("as sbatch does"),
    "Slurm's default": _("Slurm's default"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One value of a request."""

    label: Words
    value: str
    origin: str  # form, API, line 3, default, sbatch, Slurm's default: kept and told to programs as it is

    @property
    def source(self) -> str:
        """The origin in words."""
        if self.origin.startswith("line "):
            return gettext("line %(line)s") % {"line": self.origin.removeprefix("line ")}
        return str(_ORIGINS.get(self.origin, self.origin))


def of_request(request: JSONDict, origins: Mapping[str, str]) -> list[Line]:
    """What was sent, as it was kept."""
    lines = _lines(_unpacked(request), origins)
    for index, part in enumerate(request.get("components", ()), start=1):
        lines += _lines(_unpacked(part), origins, component=index)
    return lines


def _unpacked(request: JSONDict) -> JSONDict:
    values = dict(request)
    if isinstance(values.get("gpus"), dict):
        values["gpus"] = msgspec.convert(values["gpus"], GpuRequest)
    for name in ("time_limit_minutes", "time_min_minutes"):
        if values.get(name) == Unlimited.UNLIMITED.value:
            values[name] = Unlimited.UNLIMITED
    return values


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
    for index, part in enumerate(draft.more, start=1):
        lines += _lines(part, draft.origins, component=index)
    return lines + list(_of_environment(draft))


def _of_environment(draft: Draft) -> Iterator[Line]:
    """By name only: values may be secret."""
    if draft.export is not None:
        yield Line(_("Environment"), _export_text(draft.export), draft.origins.get("export", ""))
    if draft.login_environment:
        yield Line(_("Environment"), gettext("of a login"), draft.origins.get("get_user_env", ""))
    if draft.environment:
        yield Line(
            _("Environment"), ", ".join(sorted(draft.environment)), draft.origins.get("environment", "")
        )


def _export_text(rule: Export) -> str:
    names = [*rule.keeps, *(name for name, _value in rule.sets)]
    return ", ".join((["ALL"] if rule.everything else []) + names) or rule.text


def _lines(
    values: Mapping[str, object], origins: Mapping[str, str], *, component: int | None = None
) -> list[Line]:
    lines: list[Line] = []
    for name, label in LABELS.items():
        value = values.get(name)
        if value is None or (name, str(value)) in _UNSAID:
            continue
        key, shown = name, label
        if component is not None:
            key, shown = f"{component}.{name}", format_lazy("{} {}: {}", _("Component"), component + 1, label)
        lines.append(Line(shown, _show(name, value), origins.get(key, "default")))
    return lines


def _show(name: str, value: object) -> str:
    if isinstance(value, GpuRequest):
        return show_gpus(value)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, int | Unlimited):
        return _show_number(name, value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or gettext("none")
    if name == "array" and isinstance(value, str):
        array = parse_array(value)
        return f"{value}: {array.preview}" if array else value
    return str(value)


def _show_number(name: str, value: int | Unlimited) -> str:
    if name in {"time_limit_minutes", "time_min_minutes"}:
        return show_time_limit(value)
    if isinstance(value, Unlimited):
        return ""
    if name in {"begin", "deadline"}:
        return show_moment(value)
    return show_memory(value) if name.endswith("_mib") else str(value)


def as_typed(name: str, value: object) -> str:
    """A kept value as a person would type it into the form again."""
    if name == "gpus" and isinstance(value, dict):
        return f"{value['model']}:{value['count']}" if value.get("model") else str(value["count"])
    if name == "time_limit_minutes":
        return show_time_limit(value if isinstance(value, int) else Unlimited.UNLIMITED)
    return str(value)
