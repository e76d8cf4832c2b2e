"""Where a look takes the jobs from, and what each source can prove.

- LIST: all records of slurmctld with all their fields. What is missing is gone.
- CONSOLE: squeue's lines of all records, without exit codes and paths. What is missing is gone.
- STATES: ids and states of all records, no more. What is missing is gone.
- SINGLE: records of the jobs that were asked for by their ids. It proves nothing about any other job.

Above MOST_LISTED records SINGLE serves the jobs that people watch, and CONSOLE or STATES, where there is one,
the queue as a whole every few looks beside it.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Q

from clusters.clients.slurmrest.models import Diag
from clusters.models import SlurmIdentity
from jobs.models import ACTIVE_STATES, Job
from portal.lib import clock

LIST: Final = "list"
CONSOLE: Final = "console"
STATES: Final = "states"
SINGLE: Final = "single jobs"
ALL_JOBS: Final = frozenset({LIST, CONSOLE, STATES})  # with these the queue's page lists everyone's jobs
MOST_LISTED: Final = 5_000  # records; beyond, a full list costs seconds to minutes and gigabytes
MIN_JOB_AGE: Final = dt.timedelta(seconds=300)  # Slurm's default: so long it keeps an ended job's record
SURELY_SHORT: Final = 500  # records; such a list is not the reason why an answer takes long
LIST_FAILED_FOR: Final = dt.timedelta(minutes=10)
FULL_EVERY: Final = dt.timedelta(minutes=10)  # each record is compared with its row, else those that changed
MOST_REMEMBERED: Final = 200_000  # records; of a longer queue each is compared in each pass


@dataclass(slots=True)
class Whole:
    """What the process remembers of the queue as a whole; the lines are saved already."""

    source: str = ""  # of the last pass that came to its end
    at: dt.datetime | None = None  # when that pass began
    tried_at: dt.datetime | None = None
    doings: tuple[int, ...] = ()  # the controller's before that pass
    unchanged_at: dt.datetime | None = None  # when it had done nothing more
    seconds: float = 0.0  # that it took
    full_at: dt.datetime | None = None  # when every line was compared with its row
    lines: dict[int, int] = field(default_factory=dict)  # by job: a hash of its line
    dirty: dict[int, float] = field(default_factory=dict)  # by job: when another source saw it change
    counts: tuple[int, int] = (0, 0)  # tasks at work, tasks that wait
    to_ask: deque[int] = field(default_factory=lambda: deque(maxlen=5_000))  # ended, and how is not known
    running: Future[None] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_changed(self, job_ids: Iterable[int]) -> None:
        """Another source saved these: their next line is compared with the row, whatever it says."""
        with self.lock:
            self.dirty.update(dict.fromkeys(job_ids, time.monotonic()))

    def known(self) -> dict[int, int]:
        """The lines that need not be compared again."""
        with self.lock:
            return {job: line for job, line in self.lines.items() if job not in self.dirty}

    def remember(self, lines: dict[int, int], *, since: float) -> None:
        """After a pass that began at `since` on the monotonic clock."""
        with self.lock:
            self.lines = lines if len(lines) <= MOST_REMEMBERED else {}
            self.dirty = {job: at for job, at in self.dirty.items() if at >= since}


@dataclass(slots=True)
class Memory:
    """What the process remembers of a cluster from look to look; losing it costs one full list."""

    req_time: int | None = None  # the controller's clock before the last list
    listed: dict[int, int] = field(default_factory=dict)  # by job: a hash of its record in that list
    listed_at: dt.datetime | None = None  # when the look that had it began
    counts: tuple[int, int] = (0, 0)  # tasks at work and tasks that wait, in that list
    records: int | None = None  # how many the last list, or the last pass over the whole queue, had
    bound: int = 0  # what diag counted then
    full_at: dt.datetime | None = None
    asked: dict[int, int] = field(default_factory=dict)  # by job: in which look it was asked for by its id
    nodes_at: dt.datetime | None = None
    node_names: frozenset[str] = frozenset()  # as last listed
    partitions_at: dt.datetime | None = None
    observer: SlurmIdentity | None = None  # the account that looks
    list_failed_at: dt.datetime | None = None
    silent: bool = False  # the last look failed
    answers_since: dt.datetime | None = None  # after the last silence; None: as long as is remembered
    whole: Whole = field(default_factory=Whole)

    def forget_list(self) -> None:
        """After a failure: whatever was known of "unchanged since" is worth nothing."""
        self.req_time = self.full_at = self.nodes_at = self.partitions_at = None
        self.silent = True

    def note_answer(self, *, was_silent: bool) -> None:
        """The controller answers; `was_silent`: an observer had found that it did not."""
        if self.silent or was_silent:
            self.answers_since = clock.now()
            # what is known of the queue as a whole is as old as the silence, and a new slurmctld counts anew
            self.whole.tried_at, self.whole.doings = None, ()
        self.silent = False

    @property
    def is_surely_short(self) -> bool:
        """There was no failure since the last list, and that was short: the next one can be asked for."""
        return self.req_time is not None and self.records is not None and self.records <= SURELY_SHORT

    def note_records(self, records: int, diag: Diag) -> None:
        """A complete source had so many."""
        self.records, self.bound = records, diag.jobs_pending + diag.jobs_running

    def note_pass(self, source: str, at: dt.datetime, counts: Counter[bool], *, records: int) -> None:
        """One over the whole queue, which began then, came to its end: so many tasks wait (True) or work."""
        self.whole.source, self.whole.at = source, at
        self.whole.counts = counts[False], counts[True]
        self.records, self.bound = records, counts.total()


def may_list(cluster_id: uuid.UUID, memory: Memory, diag: Diag, now: dt.datetime) -> bool:
    """Whether the list of all jobs is short enough.

    Slurm counts tasks, which are at least as many as its open records; what ended a while ago has records
    too. What was counted last tells better, as long as what came since is added.
    """
    if memory.list_failed_at is not None and now - memory.list_failed_at < LIST_FAILED_FOR:
        return False
    bound = diag.jobs_pending + diag.jobs_running
    if memory.records is not None and memory.records + max(0, bound - memory.bound) <= MOST_LISTED:
        return True
    ended = Q(end_time__gte=now - MIN_JOB_AGE, end_time__lte=now) & ~Q(state__in=ACTIVE_STATES)
    rows = Job.objects.filter(cluster_id=cluster_id)
    if bound > MOST_LISTED:
        return False
    # after many were cancelled behind our back, Slurm counts none and lists them all
    active = rows.filter(state__in=ACTIVE_STATES).count()
    return max(bound, active) + rows.filter(ended).count() <= MOST_LISTED
