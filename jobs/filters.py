"""What the address of a list of jobs asks for: filters, order and columns; and how it is written again."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext_lazy as _

from jobs.models import AT_WORK_STATES, ENDED_STATES
from portal.lib.types import Words

LONGEST_TEXT = 255
MOST_COLUMNS = 6  # beside the name: a table has at most seven at 1280 px
WAITING = ("PENDING",)
STATES: Mapping[str, tuple[str, ...]] = {
    "running": AT_WORK_STATES,
    "pending": WAITING,
    "completed": ("COMPLETED",),
    "failed": tuple(sorted(set(ENDED_STATES) - {"COMPLETED", "CANCELLED", "ENDED"})),
    "cancelled": ("CANCELLED",),
    "ended": ENDED_STATES,
}
STATE_WORDS: Mapping[str, Words] = {
    "running": _("Running"),
    "pending": _("Pending"),
    "completed": _("Completed"),
    "failed": _("Failed"),
    "cancelled": _("Cancelled"),
    "ended": _("Ended"),
}
GPUS: Mapping[str, Words] = {"with": _("With GPUs"), "without": _("Without GPUs")}
SORTS: Mapping[str, Words] = {
    "-submitted": _("Newest first"),
    "submitted": _("Oldest first"),
    "name": _("Name, A to Z"),
    "-name": _("Name, Z to A"),
    "-gpus": _("Most GPUs first"),
    "gpus": _("Fewest GPUs first"),
}
COLUMNS: Mapping[str, Words] = {
    "id": _("Job"),
    "state": _("State"),
    "who": _("Who"),
    "cluster": _("Cluster"),
    "partition": _("Partition"),
    "account": _("Slurm account"),
    "qos": _("QOS"),
    "gpus": _("GPUs"),
    "cpus": _("CPUs"),
    "nodes": _("Nodes"),
    "memory": _("Memory"),
    "ran": _("Ran"),
    "limit": _("Time limit"),
    "submitted": _("Submitted"),
    "started": _("Started"),
}
NAME = _("Name")
_USUAL = ("id", "state", "who", "gpus", "ran", "submitted")
_USUAL_OF_MINE = ("id", "state", "cluster", "gpus", "ran", "submitted")


@dataclass(frozen=True, slots=True)
class Filter:
    """What the address asks for; everything else in it is ignored."""

    everyone: bool = False
    state: str = ""
    text: str = ""  # in the name, or an id: 12, 12_3
    cluster: uuid.UUID | None = None
    user: str = ""  # a person's id, or an account in the cluster
    partition: str = ""
    account: str = ""
    gpus: str = ""
    since: str = ""  # submitted from this day or moment on
    until: str = ""  # submitted before its end
    sort: str = ""

    @property
    def is_default(self) -> bool:
        """Whether the list is the one that is shown live."""
        return not self.as_query()

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves something out."""
        return bool(self.as_query().keys() - {"sort"})

    @property
    def more(self) -> int:
        """How much is chosen among what is folded away in the form."""
        return len(self.as_query().keys() - {"state", "cluster", "text"})

    @property
    def since_at(self) -> dt.datetime | None:
        """The first moment."""
        return _moment(self.since, end=False)

    @property
    def until_at(self) -> dt.datetime | None:
        """The moment before which it was submitted: a day counts whole."""
        return _moment(self.until, end=True)

    @property
    def person(self) -> uuid.UUID | None:
        """The person of `user`; None: it is the name of an account."""
        return _uuid(self.user)

    def as_query(self) -> dict[str, str]:
        """All that is not usual, but for whose jobs they are."""
        names = ("state", "text", "cluster", "user", "partition", "account", "gpus", "since", "until", "sort")
        return {name: str(value) for name in names if (value := getattr(self, name))}


def read_filter(query: Mapping[str, str]) -> Filter:
    """From the address; values that mean nothing count as absent."""

    def text(name: str, longest: int = LONGEST_TEXT) -> str:
        return query.get(name, "").replace("\0", "").strip()[:longest]

    def one_of(name: str, known: Mapping[str, object]) -> str:
        return found if (found := text(name)) in known else ""

    since, until = text("since", 40), text("until", 40)
    return Filter(
        everyone=query.get("who") == "everyone",
        state=one_of("state", STATES),
        text=text("text"),
        cluster=_uuid(query.get("cluster", "")),
        user=text("user", 64),
        partition=text("partition", 200),
        account=text("account", 200),
        gpus=one_of("gpus", GPUS),
        since=since if _moment(since, end=False) else "",
        until=until if _moment(until, end=True) else "",
        sort=one_of("sort", SORTS),
    )


def read_columns(query: QueryDict, *, everyone: bool) -> tuple[str, ...]:
    """The columns beside the name, in the table's order; the usual ones where none is chosen."""
    asked = {*query.getlist("column"), *query.get("columns", "").split(",")}
    found = tuple(name for name in COLUMNS if name in asked)[:MOST_COLUMNS]
    return found or usual_columns(everyone=everyone)


def usual_columns(*, everyone: bool) -> tuple[str, ...]:
    """What a list shows unless somebody chose: of one's own jobs it need not say whose they are."""
    return _USUAL if everyone else _USUAL_OF_MINE


def write_query(wanted: Filter, columns: tuple[str, ...], *, queue: bool = False) -> str:
    """The part of the address behind "?", always the same for the same list; a `queue` is everyone's."""
    query = {"who": "everyone"} if wanted.everyone and not queue else {}
    query |= wanted.as_query()
    if columns != usual_columns(everyone=wanted.everyone or queue):
        query["columns"] = ",".join(columns)
    return urlencode(query)


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _moment(text: str, *, end: bool) -> dt.datetime | None:
    """A day's begin or end, or a moment; in UTC unless it says otherwise."""
    try:
        if day := parse_date(text):
            begin = dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)
            return begin + dt.timedelta(days=1) if end else begin
        found = parse_datetime(text)
    except (ValueError, OverflowError):
        return None
    if found is None:
        return None
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)
