"""From what was typed to one merged request: the form beats the script, the script beats defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from django.utils.text import format_lazy
from django.utils.translation import gettext as _

from jobs.parsing.client import TAKES_THE_PLACE_OF, problems_of, work_out
from jobs.parsing.environment import parse_environment
from jobs.parsing.fields import READERS
from jobs.parsing.gpus import without_gpus
from jobs.parsing.options import Target
from jobs.parsing.options.export import Export
from jobs.parsing.refusal import Refusal
from jobs.parsing.sbatch import Directives, Found, Problem, read_directives
from jobs.parsing.script import Script, parse_script, parse_upload, wrap
from jobs.rules.checks import eased
from jobs.rules.judging import judge
from jobs.rules.view import RulesView
from jobs.services.capacity import ClusterView
from jobs.services.checks import check, notes
from portal.lib.errors import BadInput
from portal.lib.types import Words

FROM_FORM = "form"
FROM_API = "API"
GIVEN = frozenset({FROM_FORM, FROM_API})  # by who submits, beside the script
BY_DEFAULT = "default"
BY_SBATCH = "sbatch"  # worked out from other values, as the sbatch client does
_SPECIAL = ("export", "get_user_env")  # of the environment


@dataclass(frozen=True, slots=True)
class Typed:
    """The texts of a form as they came, by the names of SubmitRequest."""

    fields: Mapping[str, str] = field(default_factory=dict)
    script: str = ""
    upload: bytes | None = None
    upload_name: str = ""
    environment: str = ""
    wrap: str = ""  # one command in the place of a script, as by sbatch --wrap
    given_by: str = FROM_FORM  # or FROM_API
    insists: bool = False  # to be sent though accounting, as last seen, speaks against it


@dataclass(frozen=True, slots=True)
class Draft:
    """A request that may be sent. `origins` says for each value: form, API, line 3, default.

    `more` are the further components of a heterogeneous job; their origins are named "1.nodes".
    """

    values: Mapping[str, object]
    origins: Mapping[str, str]
    script: str
    environment: Mapping[str, str]
    notes: tuple[Words, ...] = ()  # lazy: kept in English, shown in the reader's language
    more: tuple[Mapping[str, object], ...] = ()
    export: Export | None = None  # of the script's --export
    login_environment: bool = False  # of the script's --get-user-env
    target: Target = field(default_factory=Target)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Those that are named; Slurm takes the first that fits."""
        named = self.values.get("partition")
        return tuple(named.split(",")) if isinstance(named, str) else ()


class DraftRefused(BadInput):
    """Names every problem at once; `lines` are those of the script, beside which they are shown."""

    def __init__(
        self, fields: Mapping[str, str], *, lines: tuple[Problem, ...] = (), may_insist: bool = False
    ) -> None:
        super().__init__(
            _("Some of this cannot be sent. Nothing was submitted."),
            fields=fields,
            hint=_("Slurm may know better by now: you can send it all the same.") if may_insist else "",
        )
        self.lines = lines
        self.may_insist = may_insist  # only what Slurm may know better speaks against it


@dataclass(frozen=True, slots=True)
class _Known:
    """Against what a request is checked, and what was found that is no reason to stop."""

    view: ClusterView
    rules: RulesView | None
    insists: bool
    doubts: dict[str, str] = field(default_factory=dict)  # would stop it, but Slurm may know better
    warnings: list[Words] = field(default_factory=list)


def read_draft(typed: Typed, view: ClusterView, rules: RulesView | None = None) -> Draft:
    """Read, merge and check against what was last seen of the cluster. Raises DraftRefused.

    `rules` are those of the member's account there; without them nothing of accounting is checked.
    """
    problems: dict[str, str] = {}
    known = _Known(view, rules, typed.insists)
    values = _read_fields(typed.fields, problems)
    script = _read_script(typed, problems)
    environment = _read_environment(typed.environment, problems)
    directives = read_directives(script.text, view.target) if script else Directives()
    origins = dict.fromkeys(values, typed.given_by)
    told_by_form = {*values, *problems}
    _merge(values, origins, directives.values, told_by_form)
    if "name" not in values and "name" not in problems:
        values["name"], origins["name"] = _default_name(typed), BY_DEFAULT
    special = {name: values.pop(name, None) for name in _SPECIAL}
    form = {name: values[name] for name, origin in origins.items() if origin in GIVEN}
    more = _components(directives, known, form | {"name": values.get("name")}, origins, problems)
    if more and "array" in values:
        problems.setdefault("array", _("A job of several components cannot be an array."))
    _judge(values, known, origins, problems)
    if directives.problems:
        problems.setdefault("script", " ".join(str(problem) for problem in directives.problems[:5]))
    may_insist = not problems and bool(known.doubts)
    for name, message in known.doubts.items():
        problems.setdefault(name, message)
    if problems or script is None:
        lines = (*directives.problems, *_in_script(problems, origins))
        raise DraftRefused(problems, lines=lines, may_insist=may_insist)
    for name in work_out(values, view.target):
        origins.setdefault(name, BY_SBATCH)
    if environment:
        origins["environment"] = typed.given_by
    rule = special["export"]
    return Draft(
        values=values,
        origins=origins,
        script=script.text,
        environment=environment,
        notes=(
            *script.notes,
            *(format_lazy("{}", note) for note in directives.notes),
            *(note for part in (values, *more) for note in notes(part, view)),
            *known.warnings,
        ),
        more=more,
        export=rule if isinstance(rule, Export) else None,
        login_environment=bool(special["get_user_env"]),
        target=view.target,
    )


def _merge(
    values: dict[str, object],
    origins: dict[str, str],
    found: Mapping[str, Found],
    told: Set[str] = frozenset(),
) -> None:
    """The script's values where the form tells nothing of the same thing."""
    covered = {*told, *(name for field in told for name in TAKES_THE_PLACE_OF.get(field, ()))}
    for name, one in found.items():
        value = without_gpus(str(one.value)) if name == "gres" and "gpus" in told else one.value
        if name not in covered and value not in {None, ""}:
            values[name] = value
            origins[name] = f"line {one.line}"


def _components(
    directives: Directives,
    known: _Known,
    form: Mapping[str, object],
    origins: dict[str, str],
    problems: dict[str, str],
) -> tuple[Mapping[str, object], ...]:
    """The further components; what is told in the form holds for each of them."""
    parts: list[Mapping[str, object]] = []
    for index, found in enumerate(directives.more, start=1):
        values = dict(form)
        own = {name: origins.get(name, BY_DEFAULT) for name in form}
        _merge(values, own, found, set(form) - (set() if own.get("name") in GIVEN else {"name"}))
        for name in _SPECIAL:
            values.pop(name, None)
        wrong: dict[str, str] = {}
        part = replace(known, doubts={})
        _judge(values, part, own, wrong)
        for told_of, into in ((wrong, problems), (part.doubts, known.doubts)):
            for name, message in told_of.items():
                told = _("Component %(number)d: %(message)s") % {"number": index + 1, "message": message}
                into.setdefault(f"{index}.{name}", told)
        for name in work_out(values, known.view.target):
            own.setdefault(name, BY_SBATCH)
        origins.update({f"{index}.{name}": origin for name, origin in own.items()})
        parts.append(values)
    return tuple(parts)


def _judge(
    values: dict[str, object], known: _Known, origins: Mapping[str, str], problems: dict[str, str]
) -> None:
    """What speaks against a request, by field; said before is said better."""
    view, rules = known.view, known.rules
    seen = view if rules is None else eased(values, view, rules)
    for name, message in [*check(values, seen).items(), *problems_of(values, view.target)]:
        problems.setdefault(name, _with_origin(message, origins.get(name)))
    for finding in [] if rules is None else judge(values, view, rules):
        if not finding.is_error or known.insists:
            known.warnings.append(finding.message)
        else:
            message = _with_origin(str(finding.message), origins.get(finding.field))
            known.doubts.setdefault(finding.field, message)


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
        if typed.wrap:
            return wrap(typed.wrap)
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


def _in_script(problems: Mapping[str, str], origins: Mapping[str, str]) -> Iterator[Problem]:
    """Those of values that stand in a line of the script."""
    for name, message in problems.items():
        kind, _space, number = origins.get(name, "").partition(" ")
        if kind == "line":
            yield Problem(int(number), message)


def _with_origin(message: str, origin: str | None) -> str:
    if origin is None or not origin.startswith("line"):
        return message
    told = _("%(message)s It is asked for on line %(line)s of the script.")
    return told % {"message": message, "line": origin.removeprefix("line ")}


def _default_name(typed: Typed) -> str:
    """The file's name, or "wrap", as with sbatch; else a plain word."""
    if typed.wrap:
        return "wrap"
    try:
        name = READERS["name"](typed.upload_name)
    except Refusal:
        name = None
    return str(name or "job")
