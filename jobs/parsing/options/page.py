"""The page of all options, docs/sbatch.md, written from the table and from what is really sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Final

from django.utils import translation

from clusters.clients.slurmrest.dialects import SPOKEN, dialect_for
from clusters.clients.slurmrest.dialects.submit import can_carry
from clusters.clients.slurmrest.models import JobSpec, SubmitRequest
from jobs.parsing.options import OPTIONS
from jobs.parsing.options.table import OLDEST, Option

VERSIONS: Final = tuple(reversed(SPOKEN))
SPECIAL: Final[Mapping[str, str]] = {  # fields that are no key of a job
    "environment": "`environment`",
    "export": "",
    "get_user_env": "",
    "hint": "",
    "resources": "",
}
TOP: Final = """\
# What of sbatch is honoured here

Freehold reads `#SBATCH` lines as the sbatch client does and sends what they ask for through Slurm's REST
API, which itself ignores them. A script that works with sbatch elsewhere makes the same job here. This page
is written from the table by which the portal works (`python manage.py sbatch_page`); a test holds it to the
table, and another the table to what the real sbatch of Slurm 22.05, 24.11 and 26.05 knows.

## How a script is read

- Lines count above the first command only. Below it they are ignored, which the form notes.
- Long and short forms, and every beginning of a long option that is not ambiguous: `--part=gpu`, `-pgpu`,
  `-p gpu`.
- Quotes group, a backslash takes the next character as it is, `#` ends the line. A value may stand on the
  next line.
- Of several lines for one option the last one counts. A form field beats the script, and the script beats
  Slurm's defaults.
- `#SBATCH hetjob` begins the next component of a heterogeneous job. As with sbatch, options such as
  `--time` hold for the components below, and those that choose resources begin anew. What is in the form
  holds for every component.
- Windows line ends become LF. A script without `#!`, an empty one and one with a NUL character are refused,
  as by sbatch.
- `#PBS` and `#BSUB` lines, of which sbatch translates a part, are refused: write them as `#SBATCH`.
- By the API, `wrap` in the place of `script` is `sbatch --wrap`.
- What is not understood is named with its line, and nothing is sent. No option is dropped silently.
- A time without a zone (`--begin`, `--deadline`) is in UTC; what will be sent is shown with its zone.
- What may still differ from a job by sbatch is listed with its reason in `tests/differential/known.py`.

The environment from which a job is submitted is a small one of the portal's own (PATH, HOME, USER, LOGNAME,
SHELL, LANG) with what you type into the field Environment; `--export` chooses from it. The variables that
sbatch adds for srun are added (SLURM_SUBMIT_DIR, SLURM_NTASKS, SLURM_CPUS_PER_TASK ...), but for
SLURM_SUBMIT_HOST and the limits SLURM_RLIMIT_*, which would be those of the portal's machine.

"""


def render() -> str:
    """The whole page, in English."""
    with translation.override("en"):
        sent = [option for option in OPTIONS if option.field]
        parts = [TOP, "## What is sent\n\n", _table(_HEADS["sent"], map(_sent_row, sent))]
        parts += ["\n## What is refused, and why\n\n"]
        parts += [_table(_HEADS["refused"], (_row(o, str(o.refused)) for o in OPTIONS if o.refused))]
        parts += ["\n## What has no effect on a job\n\nTaken, and noted in the form.\n\n"]
        parts += [_table(_HEADS["ignored"], (_row(o, str(o.ignored)) for o in OPTIONS if o.ignored))]
    return "".join(parts)


_HEADS: Final = {
    "sent": ("Option", "What it asks for", "Sent as"),
    "refused": ("Option", "Why"),
    "ignored": ("Option", "Why"),
}


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines: list[tuple[str, ...]] = [heads, tuple("---" for _head in heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _row(option: Option, why: str) -> tuple[str, ...]:
    return _name(option), why


def _sent_row(option: Option) -> tuple[str, ...]:
    return _name(option), str(option.text), _keys_text(option)


def _name(option: Option) -> str:
    short = f", `-{option.short}`" if option.short else ""
    since = f" (from Slurm {_release(option.since)})" if option.since > OLDEST else ""
    until = f" (before Slurm {_release(option.until)})" if option.until < (99, 0) else ""
    name: str = f"`{option.written}`{short}{since}{until}"
    return name.replace("|", r"\|")


def _release(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]:02}"


def _keys_text(option: Option) -> str:
    """`gres` to v0.0.38, `tres_per_node` from v0.0.39; what a version has no key for is refused there."""
    keys = [(version, ", ".join(f"`{key}`" for key in keys_of(option, version))) for version in VERSIONS]
    grouped = groupby(keys, lambda pair: pair[1])
    spans: list[tuple[str, list[str]]] = [
        (text, [version for version, _text in group]) for text, group in grouped
    ]
    if len(spans) == 1:
        return spans[0][0]
    return "; ".join(f"{text or 'refused'} {_span(versions)}" for text, versions in spans)


def _span(versions: list[str]) -> str:
    first, last = versions[0], versions[-1]
    if last == VERSIONS[-1]:
        return f"from {first}"
    if first == VERSIONS[0]:
        return f"up to {last}"
    return first if first == last else f"{first} to {last}"


def keys_of(option: Option, version: str) -> tuple[str, ...]:
    """The keys of Slurm's API that an option becomes in a version, found by encoding it; none: refused."""
    assert option.reader is not None  # noqa: S101  # only options that are sent are asked
    value = option.reader(option.example)
    values = value if isinstance(value, Mapping) else {option.field: value}
    fields = {name: one for name, one in values.items() if one is not None}
    known = {name: one for name, one in fields.items() if name in JobSpec.__struct_fields__}
    lost = [name for name in known if not can_carry(name, version)]
    if lost:
        return ("environment",) if lost == ["distribution"] else ()
    sent = set(_sent(version, **known)) - set(_sent(version))
    special = sorted(text.strip("`") for name in option.fields if (text := SPECIAL.get(name, "")))
    if option.name in _BY_HAND:
        special += _BY_HAND[option.name]
    return tuple(dict.fromkeys((*sorted(sent), *special)))


_BY_HAND: Final = {"hint": ["threads_per_core"], "resources": ["licenses"]}  # worked out from others


def _sent(version: str, **values: object) -> Iterator[str]:
    request = SubmitRequest(script="#!/bin/sh\n", environment={"A": "1"}, **values)  # type: ignore[arg-type]
    yield from _family(version).encode_submit(request)["job"]


_family = cache(dialect_for)
