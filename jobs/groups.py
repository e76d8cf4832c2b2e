"""The tasks of an array and the parts of a het job: which rows they are, as cells and as a list."""

from __future__ import annotations

import datetime as dt
import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db.models import F

from jobs.models import TELLING_ORDER, Job
from tenants.actor import Actor
from tenants.scoping import TenantQuerySet

MOST_CELLS = 500  # of one page
LISTED = 25
_SLACK = dt.timedelta(minutes=1)  # as jobs.observer.lines counts
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cell:
    """One task or part: `row` is None for a task that has no record of its own yet."""

    number: int
    state: str
    row: Job | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """What the page of an array or set shows."""

    line: Job
    counts: list[tuple[str, int]]
    cells: list[Cell]
    next_cell: int | None  # where the next page of cells begins
    listed: list[Job] = field(default_factory=list)
    next_listed: int | None = None
    waiting: Job | None = None  # the row that stands for the tasks without records
    unnamed: int = 0  # tasks that wait and whose numbers Slurm did not tell


def line_of(actor: Actor, row: Job) -> Job | None:
    """The row that stands for the array or set of this one; None for a job of its own."""
    if row.group_id is None:
        return None
    lines = [
        one for one in _all(actor, row).filter(is_line=True).order_by("first_seen_at") if one.group_states
    ]
    before = [one for one in lines if one.first_seen_at <= row.first_seen_at + _SLACK]
    found = before or lines
    return found[-1] if found else None


def members(actor: Actor, line: Job) -> TenantQuerySet[Job]:
    """The rows of the line's array or set; an id that was used before has other rows."""
    rows = _all(actor, line)
    others = rows.filter(is_line=True).exclude(pk=line.pk).values_list("first_seen_at", flat=True)
    later = sorted(at for at in others if at > line.first_seen_at)
    if any(at <= line.first_seen_at for at in others):
        rows = rows.filter(first_seen_at__gte=line.first_seen_at - _SLACK)
    if later:
        rows = rows.filter(first_seen_at__lt=later[0] - _SLACK)
    return rows


def group_of(actor: Actor, line: Job, *, state: str = "", first: int = 0, after: int = -1) -> Group:
    """Cells from number `first` on, and a list of tasks behind number `after`, of one state or of all."""
    rows = members(actor, line)
    number = "array_task_id" if line.array_job_id else "het_offset"
    own: TenantQuerySet[Any] = rows.filter(**{f"{number}__isnull": False})
    own = own.annotate(number=F(number)).order_by("number", "pk")
    waiting = (
        rows.filter(array_task_id=None).order_by("-first_seen_at").first() if line.array_job_id else None
    )
    cells, next_cell = _cells(own.filter(number__gte=first), waiting, first)
    listed = own.filter(number__gt=after).select_related("cluster", "owner")
    if state:
        listed = listed.filter(state=state)
    found: list[Any] = list(listed[: LISTED + 1])
    states = line.group_states or {}
    return Group(
        line=line,
        counts=[(name, states[name]) for name in TELLING_ORDER if name in states],
        cells=cells,
        next_cell=next_cell,
        listed=found[:LISTED],
        next_listed=found[LISTED - 1].number if len(found) > LISTED else None,
        waiting=waiting,
        unnamed=_unnamed(waiting),
    )


def _all(actor: Actor, row: Job) -> TenantQuerySet[Job]:
    rows = Job.objects.for_actor(actor).filter(cluster_id=row.cluster_id)
    if row.array_job_id is not None:
        return rows.filter(array_job_id=row.array_job_id)
    return rows.filter(het_job_id=row.het_job_id)


def _cells(own: TenantQuerySet[Any], waiting: Job | None, first: int) -> tuple[list[Cell], int | None]:
    light = own.only("pk", "state", "array_task_id", "het_offset")[: MOST_CELLS + 1]
    started = [Cell(row.number, row.state, row) for row in light]
    known = {cell.number for cell in started}
    rest = (
        Cell(number, waiting.state)
        for number in task_numbers(waiting.array_tasks if waiting else "", first)
        if waiting and number not in known
    )
    both = heapq.merge(started, rest, key=lambda cell: cell.number)
    found = list(islice(both, MOST_CELLS + 1))
    return found[:MOST_CELLS], found[MOST_CELLS].number if len(found) > MOST_CELLS else None


def task_numbers(text: str, first: int = 0) -> Iterator[int]:
    """The numbers from `first` on of Slurm's text of a waiting array, e.g. "8-10%2"; rising."""
    parts = [_SPAN.fullmatch(part.strip()) for part in text.partition("%")[0].strip("[]").split(",")]
    spans = [
        range(int(match[1]), int(match[2] or match[1]) + 1, max(1, int(match[3] or 1)))
        for match in parts
        if match is not None
    ]
    return _rising(heapq.merge(*(_from(span, first) for span in spans)))


def _from(span: range, first: int) -> range:
    if first <= span.start:
        return span
    steps = -((span.start - first) // span.step)
    return range(span.start + steps * span.step, span.stop, span.step)


def _rising(numbers: Iterator[int]) -> Iterator[int]:
    last = -1
    for number in numbers:
        if number != last:
            yield number
        last = number


def _unnamed(waiting: Job | None) -> int:
    """A long text is cut, by Slurm or by us: the count is whole all the same."""
    if waiting is None:
        return 0
    named = sum(1 for _ in islice(task_numbers(waiting.array_tasks), waiting.task_count + 1))
    return max(0, waiting.task_count - named)
