"""The #SBATCH lines of a script, which slurmrestd ignores: read here as the sbatch client reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.parsing.client import is_hint_void
from jobs.parsing.head import Problem, Word, read_head
from jobs.parsing.options import OPTIONS, Asked, Option, Target, read_options
from jobs.parsing.refusal import Refusal

__all__ = ["Directives", "Found", "Problem", "read_directives"]

# what holds for the next component, too, unless that says otherwise
STAYS = frozenset(
    """
    account accounting_frequency array batch_constraint begin comment container container_id container_type
    deadline delay_boot dependency exclude export extra get_user_env hint hold keep_on_node_failure
    kill_on_invalid_dependency mcs_label memory_mib memory_update name nice oom_kill_step open_mode prefer
    priority profile qos reboot requeue requeue_expedited reservation selinux_context stderr stdin stdout
    step_manager time_limit_minutes time_min_minutes wait_all_nodes warning warning_batch wckey
    working_directory
    """.split()  # noqa: SIM905  # as a list it would be 45 lines
)
_SHARING = {"exclusive", "oversubscribe"}
_PLAIN_LAYOUT = re.compile(r"block|cyclic|\*", re.IGNORECASE)
_ONLY_SRUN = gettext_lazy("--distribution is told to srun only; this cluster's API does not carry it.")


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the script and the line on which it stands (from 1). None: taken back by a later line."""

    value: object
    line: int


@dataclass(slots=True)
class Directives:
    """What the #SBATCH lines ask for, by the names of our fields. The last line of an option wins."""

    values: dict[str, Found] = field(default_factory=dict)
    more: list[dict[str, Found]] = field(default_factory=list)  # further components, after #SBATCH hetjob
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)  # worth telling, no reason to stop


def read_directives(script: str, target: Target | None = None) -> Directives:
    """Read a script with LF line ends, for a cluster. Never raises; what cannot be read is a problem."""
    chosen = target or Target()
    head = read_head(script, keeps_escaped_blank=chosen.is_new)
    result = Directives(problems=head.problems, notes=head.notes)
    for index, words in enumerate(head.parts):
        before = (result.more or [result.values])[-1]
        kept = {name: found for name, found in before.items() if name in STAYS} if index else {}
        if is_hint_void(before, chosen):
            kept.pop("hint", None)
        part = _read_part(result, words, chosen, kept)
        if index:
            result.more.append(part)
        else:
            result.values = part
    result.problems.sort(key=lambda problem: problem.line)
    return result


def _read_part(
    result: Directives, words: list[Word], target: Target, kept: Mapping[str, Found]
) -> dict[str, Found]:
    known = [option for option in OPTIONS if option.is_known_to(target)]
    found = dict(kept)
    names: set[str] = set()
    for asked in read_options(words, known):
        if isinstance(asked, Asked):
            names.add(asked.option.name)
            if target.is_new and names >= _SHARING and asked.option.name in _SHARING:
                result.problems.append(
                    Problem(asked.line, _("--exclusive and --oversubscribe exclude each other."))
                )
        if isinstance(asked, Problem):
            result.problems.append(_of_another_release(asked, words, target))
        elif asked.option.ignored:
            told = format_lazy("--{}: {}", asked.option.name, asked.option.ignored)
            result.notes.append(Problem(asked.line, told))
        else:
            _take(result, found, asked, target)
    return found


def _of_another_release(problem: Problem, words: list[Word], target: Target) -> Problem:
    """An option of another release is named as such."""
    for word in words:
        name = word.text.removeprefix("--").partition("=")[0]
        option = next((option for option in OPTIONS if option.name == name), None)
        if word.line == problem.line and option and not option.is_known_to(target):
            told = _("Slurm %(release)s of this cluster has no option --%(option)s.")
            release = f"{target.release[0]}.{target.release[1]:02}"
            return Problem(problem.line, told % {"release": release, "option": name})
    return problem


def _take(result: Directives, found: dict[str, Found], asked: Asked, target: Target) -> None:
    option = asked.option
    try:
        values = _values(option, asked.value)
        _check_carried(values, target)
        if "distribution" in values and not target.carries("distribution"):
            result.notes.append(Problem(asked.line, _ONLY_SRUN))
    except Refusal as refusal:
        result.problems.append(Problem(asked.line, f"--{option.name}: {refusal}"))
        return
    for name, value in values.items():
        old = found.get(name)
        if option.adds_up and target.release < (25, 5) and old and isinstance(value, tuple):
            value = tuple(sorted({*_tuple(old.value), *value}))  # noqa: PLW2901
        found[name] = Found(value, asked.line)


def _tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def _values(option: Option, text: str | None) -> Mapping[str, object]:
    """What the option sets. Raises Refusal."""
    if option.refused:
        raise Refusal(str(option.refused))
    if text == "" and option.takes == "value":
        raise Refusal(_("there is no value."))
    assert option.reader is not None  # noqa: S101  # a row that is neither refused nor ignored has one
    value = option.reader(text or "")
    return value if isinstance(value, Mapping) else {option.field: value}


def _check_carried(values: Mapping[str, object], target: Target) -> None:
    """Raise Refusal for what the cluster's API would drop without a word."""
    lost = [name for name, value in values.items() if value is not None and not target.carries(name)]
    if values.get("hint") == "memory_bound" and not target.carries("cores_per_socket"):
        lost = ["cores_per_socket"]
    if lost == ["distribution"] and _PLAIN_LAYOUT.match(str(values["distribution"])):
        return  # srun reads it from the environment
    if lost:
        told = _("the API %(api)s of this cluster cannot carry it. Remove it.")
        raise Refusal(told % {"api": target.api})
