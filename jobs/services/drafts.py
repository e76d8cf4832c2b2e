"""From what was typed to one merged request: the form beats the script, the script beats defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.text import format_lazy
from django.utils.translation import gettext as _

from jobs.parsing.environment import parse_environment
from jobs.parsing.fields import READERS
from jobs.parsing.refusal import Refusal
from jobs.parsing.sbatch import Directives, Problem, read_directives
from jobs.parsing.script import Script, parse_script, parse_upload
from jobs.services.capacity import ClusterView
from jobs.services.checks import check
from portal.lib.errors import BadInput
from portal.lib.types import Words

FROM_FORM = "form"
BY_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Typed:
    """The texts of a form as they came, by the names of SubmitRequest."""

    fields: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    upload: bytes | None = None
    upload_name: str = ""
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A request that may be sent. `origins` says for each value: form, line 3, default."""

    values: Mapping[str, object]
    origins: Mapping[str, str]
    script: str
    environment: Mapping[str, str]
    notes: tuple[Words, ...] = ()  # lazy: kept in English, shown in the reader's language


class DraftRefused(BadInput):
    """Names every problem at once; `lines` are those of the script, beside which they are shown."""

    def __init__(self, fields: Mapping[str, str], *, lines: tuple[Problem, ...] = ()) -> None:
        super().__init__(_("Some of this cannot be sent. Nothing was submitted."), fields=fields)
        self.lines = lines


def read_draft(typed: Typed, view: ClusterView) -> Draft:
    """Read, merge and check against what was last seen of the cluster. Raises DraftRefused."""
    problems: dict[str, str] = {}
    values = _read_fields(typed.fields, problems)
    script = _read_script(typed, problems)
    environment = _read_environment(typed.environment, problems)
    directives = read_directives(script.text) if script else Directives()
    origins = dict.fromkeys(values, FROM_FORM)
    for name, found in directives.values.items():
        if name not in values and name not in problems and found.value is not None:
            values[name] = found.value
            origins[name] = f"line {found.line}"
    for name, message in check(values, view).items():
        problems.setdefault(name, _with_origin(message, origins.get(name)))
    if directives.problems:
        problems.setdefault("script", " ".join(str(problem) for problem in directives.problems[:5]))
    if problems or script is None:
        raise DraftRefused(problems, lines=tuple(directives.problems))
    if "name" not in values:
        values["name"], origins["name"] = _default_name(typed), BY_DEFAULT
    return Draft(
        values=values,
        origins=origins,
        script=script.text,
        environment=environment,
        notes=(*script.notes, *(format_lazy("{}", note) for note in directives.notes)),
    )


def _read_fields(fields: Mapping[str, str], problems: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, reader in READERS.items():
        try:
            value = reader(fields.get(name, ""))
        except Refusal as refusal:
            problems[name] = str(refusal)
            continue
        if value is not None:
            values[name] = value
    return values


def _read_script(typed: Typed, problems: dict[str, str]) -> Script | None:
    try:
        if typed.upload is None:
            return parse_script(typed.script, typed=True)
    except Refusal as refusal:
        problems["script"] = str(refusal)
        return None
    try:
        return parse_upload(typed.upload)
    except Refusal as refusal:
        problems["upload"] = str(refusal)
        return None


def _read_environment(text: str, problems: dict[str, str]) -> dict[str, str]:
    try:
        return parse_environment(text)
    except Refusal as refusal:
        problems["environment"] = str(refusal)
        return {}


def _with_origin(message: str, origin: str | None) -> str:
    if origin is None or not origin.startswith("line"):
        return message
    told = _("%(message)s It is asked for on line %(line)s of the script.")
    return told % {"message": message, "line": origin.removeprefix("line ")}


def _default_name(typed: Typed) -> str:
    """The file's name, as with sbatch; else a plain word."""
    try:
        name = READERS["name"](typed.upload_name)
    except Refusal:
        name = None
    return str(name or "job")
