"""Changes of a job that Slurm has: read from texts, and compared afterwards with what Slurm made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.clients.slurmrest.changes import CannotAsk, JobChanges
from clusters.clients.slurmrest.models import JobRecord, Limit
from jobs.models import Job
from jobs.observer.marks import add_mark, split_mark
from jobs.parsing.fields import READERS, Reader, parse_count, parse_word
from jobs.parsing.memory import show_memory
from jobs.parsing.moments import parse_moment, show_moment
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import show_time_limit
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict, Words

MOST_NICE: Final = 2**31 - 4
MOST_AT_ONCE: Final = 100_000


def _nice(text: str) -> int | None:
    word = text.strip()
    if not word:
        return None
    if re.fullmatch(r"\d{1,10}", word, re.ASCII) is None or int(word) > MOST_NICE:
        raise Refusal(_("Write a whole number from 0 up; the more, the later it starts."))
    return int(word)


def _at_once(text: str) -> int | None:
    return 0 if text.strip() == "0" else parse_count(text, most=MOST_AT_ONCE)


# name in forms and in the API -> (label, how it is read)
FIELDS: Final[Mapping[str, tuple[Words, Reader]]] = {
    "time_limit_minutes": (gettext_lazy("Time limit"), READERS["time_limit_minutes"]),
    "partition": (gettext_lazy("Partition"), READERS["partition"]),
    "name": (gettext_lazy("Name"), READERS["name"]),
    "comment": (gettext_lazy("Comment"), READERS["comment"]),
    "nodes": (gettext_lazy("Nodes"), READERS["nodes"]),
    "memory_mib": (gettext_lazy("Memory per node"), READERS["memory_mib"]),
    "qos": (gettext_lazy("QOS"), READERS["qos"]),
    "reservation": (gettext_lazy("Reservation"), parse_word),
    "dependency": (gettext_lazy("Dependency"), READERS["dependency"]),
    "begin": (gettext_lazy("Not before"), parse_moment),
    "nice": (gettext_lazy("Nice"), _nice),
    "array_throttle": (gettext_lazy("Tasks at once"), _at_once),
}
WHILE_IT_RUNS: Final = ("time_limit_minutes", "name", "comment")
OF_ARRAYS: Final = ("array_throttle",)


def fields_for(job: Job) -> list[str]:
    """What may be changed of the job in its state."""
    if job.state != "PENDING":
        return list(WHILE_IT_RUNS)
    return [name for name in FIELDS if name not in OF_ARRAYS or job.is_folded]


def present(job: Job) -> dict[str, str]:
    """The values as last seen, in the form in which they are typed; "" for what the portal does not keep."""
    limit: Limit = job.time_limit_minutes
    known: dict[str, object] = {
        "time_limit_minutes": show_time_limit(limit) if limit is not None else "UNLIMITED",
        "partition": job.partition,
        "name": job.name,
        "comment": job.comment,
        "nodes": job.node_count or "",
        "memory_mib": "" if job.memory_mib is None else job.memory_mib,
        "qos": job.qos,
        "array_throttle": job.array_tasks.partition("%")[2],
    }
    return {name: str(known.get(name, "")) for name in fields_for(job)}


def read(job: Job, texts: Mapping[str, str]) -> JobChanges:
    """What is to be different: blank and unchanged texts leave a thing as it is. Raises BadInput."""
    now = present(job)
    problems: dict[str, str] = {}
    values: JSONDict = {}
    for name, text in texts.items():
        try:
            if text.strip() and text.strip() != now.get(name):
                values[name] = _reader(name, now)(text)
        except Refusal as refusal:
            problems[name] = str(refusal)
    if problems:
        raise BadInput(_("Some of this cannot be changed. Nothing was."), fields=problems)
    if not values:
        raise BadInput(_("Nothing is to be changed."), fields={"": _("Change at least one value.")})
    if "comment" in values and job.mark:
        values["comment"] = add_mark(values["comment"], job.mark)
    return JobChanges(**values)


def _reader(name: str, allowed: Container[str]) -> Reader:
    if name not in FIELDS:
        raise Refusal(_("There is no such value."))
    if name not in allowed:
        raise Refusal(_("This cannot be changed in the job's state."))
    return FIELDS[name][1]


def cannot(error: CannotAsk) -> BadInput:
    """What this version of Slurm's API would ignore without a word: it was not sent."""
    told = _("This cluster's release of Slurm cannot change this. Nothing was changed.")
    return BadInput(told, fields={name if name in FIELDS else "": told for name in error.fields})


def for_the_trail(changes: JobChanges) -> JSONDict:
    """The new values, for the audit row."""
    found = {name: getattr(changes, name) for name in sorted(changes.asked)}
    if "comment" in found:
        found["comment"] = split_mark(found["comment"])[0]
    return {"changes": {name: one if isinstance(one, int) else str(one) for name, one in found.items()}}


def differences(records: Sequence[JobRecord], changes: JobChanges) -> tuple[str, ...]:
    """What Slurm took and did not do, a sentence each; of records that were read after the change."""
    told: list[str] = []
    for record in records:
        for name in sorted(changes.asked & _SEEN.keys()):
            if name in OF_ARRAYS and not record.array_task_string:
                continue  # a task that is a record of its own by now does not tell it
            look, show = _SEEN[name]
            wanted, found = getattr(changes, name), look(record)
            if found != wanted:
                words = {"job": record.shown_id, "field": _label(name), "found": show(found) or "-"}
                told.append(_("Slurm took the change, but %(field)s of %(job)s is still %(found)s.") % words)
    return tuple(dict.fromkeys(told))


def _label(name: str) -> str:
    return str(FIELDS[name][0]) if name in FIELDS else _("the hold")


def _plain(name: str) -> tuple[Callable[[JobRecord], object], Callable[[object], str]]:
    return partial(_attribute, name), str


def _attribute(name: str, record: JobRecord) -> object:
    return getattr(record, name)


def _is_held(record: JobRecord) -> bool:
    return record.hold or record.reason.startswith("JobHeld") or record.priority == 0


def _at_once_of(record: JobRecord) -> int:
    limit = record.array_task_string.partition("%")[2]
    return int(limit) if limit.isdigit() else 0


# by name: how it is seen in a record, and how that is shown; nice is in no record
_SEEN: Final[Mapping[str, tuple[Callable[[JobRecord], object], Callable[..., str]]]] = {
    "hold": (_is_held, lambda held: _("held") if held else _("not held")),
    "name": _plain("name"),
    "comment": (_plain("comment")[0], lambda text: split_mark(text)[0]),
    "partition": _plain("partition"),
    "qos": _plain("qos"),
    "reservation": _plain("reservation"),
    "time_limit_minutes": (_plain("time_limit")[0], show_time_limit),
    "nodes": (_plain("node_count")[0], str),
    "memory_mib": (_plain("memory_per_node")[0], show_memory),
    "begin": (_plain("eligible_time")[0], lambda epoch: show_moment(epoch) if epoch else ""),
    "array_throttle": (_at_once_of, str),
}
