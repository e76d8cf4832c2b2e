"""A pass over a queue that is short enough to be listed: of all records those that changed are saved."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import Diag, JobList, JobRecord
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job, JobState, Submission, SubmissionState
from jobs.observer.columns import is_our_check, state_of, tasks_of
from jobs.observer.leftovers import end_missing
from jobs.observer.resolve import settle
from jobs.observer.rows import save_records
from jobs.observer.sources import FULL_EVERY, SURELY_SHORT, Memory
from portal.lib.http import NoAnswer


@dataclass(frozen=True, slots=True)
class Asked:
    """A list on its way."""

    answer: Future[JobList | None]  # None where nothing changed
    is_full: bool  # each record is to be compared with its row
    at: float  # on the monotonic clock, not later than it was sent


def ask_list(memory: Memory, gateway: SlurmGateway, started: dt.datetime, beside: Executor) -> Asked:
    """For by_list. It is waited for `beside`, so that our rows are read meanwhile."""
    is_full = memory.full_at is None or started - memory.full_at >= FULL_EVERY
    since = None if is_full else memory.req_time
    at = time.monotonic()
    return Asked(beside.submit(gateway.jobs, unchanged_since=since), is_full, at)


def by_list(
    cluster: Cluster,
    memory: Memory,
    gateway: SlurmGateway,
    diag: Diag,
    started: dt.datetime,
    *,
    asked: Asked,
    open_submits: Sequence[Submission],
) -> bool:
    """Whether anything changed. The clock of `diag` is that of before the list was asked for."""
    is_short = diag.jobs_pending + diag.jobs_running <= SURELY_SHORT
    active = _active(cluster, memory.listed_at, started) if is_short else None  # else only if it is needed
    listing = _answer(memory, asked, diag, started)
    if listing is None and any(one.state == SubmissionState.CHECKING for one in open_submits):
        listing = gateway.jobs()  # only all of it proves that one did not arrive
    if listing is None:
        settle(open_submits, looked_at=started, complete=False)
        return False
    records = listing.jobs
    active = active or _active(cluster, memory.listed_at, started)
    known = {} if asked.is_full else memory.listed
    for number in active.written:
        known.pop(number, None)
    listed: dict[int, int] = {record.job_id: hash(record) for record in records}
    fresh = [record for record in records if known.get(record.job_id) != listed[record.job_id]]
    changes = save_records(cluster, fresh, looked_at=started)
    ended = end_missing(cluster, active.older.difference(listed), started)
    # remembered only now: a list that could not be saved must not count as known
    memory.listed, memory.listed_at = listed, started
    memory.note_records(len(records), diag)
    memory.counts, memory.req_time = _count(records), diag.req_time
    memory.full_at = started if asked.is_full else memory.full_at
    settle(open_submits, looked_at=started, complete=True, answers_since=memory.answers_since)
    return bool(changes.rows or ended)


def _answer(memory: Memory, asked: Asked, diag: Diag, started: dt.datetime) -> JobList | None:
    try:
        listing = asked.answer.result()
    except errors.NotReachable as error:
        cause = error.__cause__
        if isinstance(cause, NoAnswer) and cause.timed_out and diag.jobs_pending > SURELY_SHORT:
            memory.list_failed_at = started  # it is longer than was thought
        raise
    memory.list_failed_at = None
    return listing


@dataclass(frozen=True, slots=True)
class _Active:
    """Slurm's ids of active rows."""

    written: set[int]  # since the last list, for an act or by another observer: they may tell otherwise
    older: set[int]  # than this look: without a record in it they ended


def _active(cluster: Cluster, listed_at: dt.datetime | None, started: dt.datetime) -> _Active:
    rows = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES)
    found = list(rows.values_list("slurm_job_id", "observed_at"))
    return _Active(
        written={number for number, at in found if listed_at is not None and at > listed_at},
        older={number for number, at in found if at <= started},
    )


def _count(records: Iterable[JobRecord]) -> tuple[int, int]:
    """(tasks at work, tasks that wait)."""
    counts: Counter[bool] = Counter()
    for record in records:
        state = state_of(record)
        if state in ACTIVE_STATES and not is_our_check(record):
            counts[state == JobState.PENDING] += tasks_of(record)
    return counts[False], counts[True]
