"""The #SBATCH lines of a script, which slurmrestd ignores: read here as sbatch would read them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.parsing.fields import READERS, Reader
from jobs.parsing.gpus import parse_gpus
from jobs.parsing.refusal import Refusal
from portal.lib.types import Words

_MAGIC = "#SBATCH"
_SHORT = {
    "J": "job-name",
    "p": "partition",
    "N": "nodes",
    "n": "ntasks",
    "c": "cpus-per-task",
    "G": "gpus",
    "t": "time",
    "o": "output",
    "e": "error",
    "a": "array",
    "A": "account",
    "q": "qos",
    "D": "chdir",
    "d": "dependency",
}
_FIELD = {
    "job-name": "name",
    "partition": "partition",
    "nodes": "nodes",
    "ntasks": "tasks",
    "cpus-per-task": "cpus_per_task",
    "gpus": "gpus",
    "gpus-per-node": "gpus",
    "gres": "gpus",
    "mem": "memory_mib",
    "mem-per-cpu": "memory_per_cpu_mib",
    "time": "time_limit_minutes",
    "output": "stdout",
    "error": "stderr",
    "array": "array",
    "account": "account",
    "qos": "qos",
    "reservation": "reservation",
    "chdir": "working_directory",
    "dependency": "dependency",
    "comment": "comment",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the script and the line on which it stands (from 1)."""

    value: object
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that cannot be honoured, and what to do about it."""

    line: int
    message: Words  # lazy where it is kept

    def __str__(self) -> str:
        return _("Line %(line)d: %(message)s") % {"line": self.line, "message": self.message}


@dataclass(slots=True)
class Directives:
    """What the #SBATCH lines ask for, by the names of our fields. The last line of an option wins."""

    values: dict[str, Found] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)  # worth telling, no reason to stop


def read_directives(script: str) -> Directives:
    """Read a script with LF line ends. Never raises; what cannot be read is a problem with its line."""
    result = Directives()
    in_head = True
    for number, line in enumerate(script.split("\n"), start=1):
        if line.startswith(_MAGIC):
            if in_head:
                _read_line(result, number, line.removeprefix(_MAGIC))
            else:
                result.notes.append(
                    Problem(number, gettext_lazy("#SBATCH below the first command is ignored, as by sbatch."))
                )
        elif line.strip() and not line.lstrip().startswith("#"):
            in_head = False
    return result


def _read_line(result: Directives, number: int, rest: str) -> None:
    if rest and not rest[0].isspace():
        result.problems.append(Problem(number, _("write a space after #SBATCH.")))
        return
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:
        result.problems.append(Problem(number, _("a quote is not closed.")))
        return
    try:
        for option, text in _options(words):
            name, value = _read_option(option, text)
            result.values[name] = Found(value, number)
    except Refusal as refusal:
        result.problems.append(Problem(number, str(refusal)))


def _options(words: list[str]) -> Iterator[tuple[str, str | None]]:
    """(long option, its value) from words such as --time=5, --time 5, -t5, -t 5."""
    waiting = iter(words)
    for word in waiting:
        if word.startswith("--") and len(word) > 2:
            option, equals, value = word[2:].partition("=")
            text = value if equals else None
        elif match := re.fullmatch(r"-([A-Za-z])(.*)", word, re.DOTALL):
            option = _SHORT.get(match[1], "")
            text = match[2] or None
            if not option:
                raise Refusal(_not_handled(f"-{match[1]}"))
        else:
            raise Refusal(_('"%(word)s" is not an option. Options begin with - or --.') % {"word": word[:60]})
        if option not in _FIELD:
            raise Refusal(_not_handled(f"--{option[:60]}"))
        yield option, next(waiting, None) if text is None else text


def _not_handled(option: str) -> str:
    return _("%(option)s is not handled here yet; remove it or set it in the form.") % {"option": option}


def _read_option(option: str, text: str | None) -> tuple[str, object]:
    name = _FIELD[option]
    if not text or (text.startswith("--") and text[2:].partition("=")[0] in _FIELD):
        raise Refusal(_("--%(option)s has no value.") % {"option": option})
    reader: Reader = _GPU_READERS.get(option, READERS[name])
    try:
        value = reader(text)
    except Refusal as refusal:
        raise Refusal(f"--{option}: {refusal}") from refusal
    return name, value


def _gres(text: str) -> object | None:
    """gpu, gpu:2, gpu:a100 and gpu:a100:2; a missing number is one."""
    kind, _colon, rest = text.partition(":")
    if kind != "gpu" or "," in text:
        raise Refusal(_("only gpu is handled here, for example gpu:2 or gpu:a100:2."))
    last = rest.rpartition(":")[2]
    return parse_gpus(rest if last.isdigit() else f"{rest}:1".removeprefix(":"))


_GPU_READERS: dict[str, Reader] = {
    "gres": _gres,
    "gpus": lambda text: parse_gpus(text, per="job"),
    "gpus-per-node": parse_gpus,
}
