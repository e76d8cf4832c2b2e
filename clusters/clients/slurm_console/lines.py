"""The queue as squeue prints it: a fixed format, cut at a mark that is new for each call.

Names, comments and reasons are whatever people typed, line breaks included. No character can be trusted to
end a field, so a random word does: nobody knows it before the call.
"""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from clusters.clients.slurmrest.errors import BadAnswer
from clusters.clients.slurmrest.models import UNLIMITED, Limit

FORMAT: Final = (
    *("%A", "%i", "%T", "%u", "%P", "%a", "%q", "%V", "%S", "%e", "%l", "%D", "%C", "%b", "%N", "%r"),
    *("%j", "%k"),
)
Line: TypeAlias = tuple[str, ...]  # the fields of FORMAT as printed; equal lines are equal jobs
LONGEST_LINE: Final = 1024 * 1024  # bytes; names and comments end at a thousand or so
ABSENT: Final = frozenset({"", "N/A", "(null)", "None", "Unknown", "NONE"})


class QueueLine(msgspec.Struct, frozen=True, kw_only=True):
    """A job, an array task that started, or the waiting rest of an array."""

    job_id: int
    state: str  # RUNNING, PENDING, COMPLETING, CONFIGURING, FAILED ...
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_task_string: str = ""  # the waiting rest: "3-8%2"
    het_job_id: int | None = None
    het_job_offset: int | None = None
    user_name: str | None = None
    partition: str = ""
    account: str = ""
    qos: str = ""
    submit_time: int | None = None
    start_time: int | None = None  # of a waiting job: Slurm's estimate
    end_time: int | None = None  # of a running job: when its time limit ends; of an ended one its end
    time_limit: Limit = None
    node_count: int | None = None
    cpus: int | None = None
    gres: str = ""  # per node, e.g. "gres:gpu:a100:2"
    nodes: str = ""
    reason: str = ""
    name: str = ""
    comment: str = ""


def new_mark() -> str:
    """What separates the fields of one call."""
    return f"~{secrets.token_hex(6)}~"


def format_with(mark: str) -> str:
    """The value of squeue's --format."""
    return mark + mark.join(FORMAT) + mark


def read(parts: Iterable[bytes], mark: str) -> Iterator[Line]:
    """The lines of squeue's output, in constant memory. Raises BadAnswer for what is not such an output."""
    size = len(FORMAT) + 1  # a record is: mark, fields with a mark after each, line break
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for part in parts:
        found = (rest + decoder.decode(part)).split(mark)
        whole = (len(found) - 1) // size * size
        for start in range(0, whole, size):
            if found[start].strip("\n"):
                raise BadAnswer("Slurm's queue cannot be read.", found[start][:200])
            yield tuple(found[start + 1 : start + size])
        rest = mark.join(found[whole:])
        if len(rest) > LONGEST_LINE:
            raise BadAnswer("Slurm's queue cannot be read.", "a line without an end")
    if rest.strip("\n"):
        raise BadAnswer("Slurm's queue ended in the middle of a line.", rest[:200])


def parse(fields: Line) -> QueueLine:
    """What a line says. Raises BadAnswer for one without a job's number."""
    own, shown, state, user, partition, account, qos, submit, start, end, limit = fields[:11]
    nodes, cpus, gres, listed, reason, name, comment = fields[11:]
    if not own.isdigit():
        raise BadAnswer("Slurm's queue cannot be read.", own[:200])
    array, task, waiting, het, offset = _address(shown)
    return QueueLine(
        job_id=int(own),
        state=state,
        array_job_id=array,
        array_task_id=task,
        array_task_string=waiting,
        het_job_id=het,
        het_job_offset=offset,
        user_name=_text(user) or None,
        partition=_text(partition),
        account=_text(account),
        qos=_text(qos),
        submit_time=_number(submit),
        start_time=_number(start),
        end_time=_number(end),
        time_limit=_minutes(limit),
        node_count=_number(nodes),
        cpus=_number(cpus),
        gres=_text(gres),
        nodes=_text(listed),
        reason=_text(reason),
        name=name,
        comment=comment if comment != "(null)" else "",
    )


def _address(shown: str) -> tuple[int | None, int | None, str, int | None, int | None]:
    """(array, task, waiting rest, set, offset) of "12", "12_3", "12_[3-8%2]" or "12+1"."""
    if "_" in shown:
        array, _, task = shown.partition("_")
        if task.isdigit():
            return _number(array), int(task), "", None, None
        return _number(array), None, task.strip("[]"), None, None
    if "+" in shown:
        het, _, offset = shown.partition("+")
        return None, None, "", _number(het), _number(offset)
    return None, None, "", None, None


def _text(value: str) -> str:
    return "" if value in ABSENT else value


def _number(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() else None


def _minutes(value: str) -> Limit:
    """Of "5:00", "1:00:00" or "2-00:00:00"; seconds count as the minute that they begin."""
    if value == "UNLIMITED":
        return UNLIMITED
    days, dash, clock = value.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in (*parts, *([days] if dash else []))) or len(parts) > 3:
        return None
    hours, minutes, seconds = ["0", "0", *parts][-3:]
    total = int(days or 0) * 1440 + int(hours) * 60 + int(minutes)
    return total + (1 if int(seconds) else 0)
