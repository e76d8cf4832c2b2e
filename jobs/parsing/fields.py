"""How each field of a job is read from text, the same for the form and for a script's #SBATCH lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from django.utils.translation import gettext as _

from jobs.parsing.array import parse_array
from jobs.parsing.gpus import parse_gpus
from jobs.parsing.memory import parse_memory
from jobs.parsing.names import parse_line
from jobs.parsing.numbers import grouped
from jobs.parsing.paths import parse_any_path
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import parse_time_limit

MOST_NODES = 10_000
MOST_TASKS = 1_000_000
MOST_CPUS = 4096
LONGEST_WORD = 120
LONGEST_DEPENDENCY = 1000
LONGEST_COMMENT = 900  # Slurm takes 1024 with our mark

Reader = Callable[[str], object | None]
_WORD = re.compile(r"[^\s,;|&<>'\"\\]+")
_DEPENDENCY = re.compile(r"\d+|[a-z]+(?::[0-9_+*]+)*(?:[,?][a-z]+(?::[0-9_+*]+)*)*", re.ASCII | re.IGNORECASE)


def parse_count(text: str, *, most: int) -> int | None:
    """A whole number from 1 to `most`, or None for blank. Raises Refusal."""
    word = text.strip()
    if not word:
        return None
    if not (word.isascii() and word.isdigit()) or not 1 <= int(word[:12]) <= most:
        raise Refusal(_("Write a whole number from 1 to %(most)s.") % {"most": grouped(most)})
    return int(word)


def parse_word(text: str) -> str | None:
    """The name of one of Slurm's things, or None for blank. Raises Refusal."""
    word = parse_line(text, longest=LONGEST_WORD)
    if word is not None and _WORD.fullmatch(word) is None:
        raise Refusal(_("Write one name, without spaces, commas or quotes."))
    return word


def parse_directory(text: str) -> str | None:
    """An absolute path, or None for blank. Raises Refusal."""
    path = parse_any_path(text)
    if path is not None and not path.startswith("/"):
        raise Refusal(_("Write a full path that begins with /."))
    return path


def parse_dependency(text: str) -> str | None:
    """Such as afterok:123 or afterany:12:13,afternotok:9, or None for blank. Raises Refusal."""
    word = parse_line(text, longest=LONGEST_DEPENDENCY)
    if word is not None and _DEPENDENCY.fullmatch(word) is None:
        raise Refusal(_("Write for example afterok:123 or afterany:12:13."))
    return word


def _array_text(text: str) -> str | None:
    array = parse_array(text)
    return array.text if array else None


READERS: Mapping[str, Reader] = {
    "name": parse_line,
    "partition": parse_word,
    "nodes": partial(parse_count, most=MOST_NODES),
    "tasks": partial(parse_count, most=MOST_TASKS),
    "cpus_per_task": partial(parse_count, most=MOST_CPUS),
    "gpus": parse_gpus,
    "memory_mib": parse_memory,
    "memory_per_cpu_mib": parse_memory,
    "time_limit_minutes": parse_time_limit,
    "array": _array_text,
    "working_directory": parse_directory,
    "stdout": parse_any_path,
    "stderr": parse_any_path,
    "account": parse_word,
    "qos": parse_word,
    "reservation": parse_word,
    "dependency": parse_dependency,
    "comment": partial(parse_line, longest=LONGEST_COMMENT),
}
