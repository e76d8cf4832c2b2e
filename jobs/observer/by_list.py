"""A pass over a queue that is short enough to be listed: of all records those that changed are saved."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from typing import Final

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import Diag, JobRecord
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job, JobState, SubmissionState
from jobs.observer.columns import is_our_check, state_of, tasks_of
from jobs.observer.leftovers import end_missing
from jobs.observer.resolve import settle, unsettled
from jobs.observer.rows import save_records
from jobs.observer.sources import FULL_EVERY, Memory
from portal.lib.http import NoAnswer

SURELY_SHORT: Final = 500  # jobs; such a list is not the reason why an answer takes long


def by_list(
    cluster: Cluster, memory: Memory, gateway: SlurmGateway, diag: Diag, started: dt.datetime
) -> bool:
    """Whether anything changed. `diag` was asked for before; the look began at `started`."""
    open_submits = unsettled(cluster, looked_at=started)
    wait_for_proof = any(one.state == SubmissionState.CHECKING for one in open_submits)
    is_full = memory.full_at is None or started - memory.full_at >= FULL_EVERY
    records = _list(memory, gateway, diag, started, None if is_full or wait_for_proof else memory.req_time)
    if records is None:
        settle(open_submits, looked_at=started, complete=False)
        return False
    known = {} if is_full else memory.listed
    for number in _written_since(cluster, memory.listed_at):
        known.pop(number, None)
    listed: dict[int, int] = {record.job_id: hash(record) for record in records}
    fresh = [record for record in records if known.get(record.job_id) != listed[record.job_id]]
    changes = save_records(cluster, fresh, looked_at=started)
    ended = end_missing(cluster, listed, started)
    # remembered only now: a list that could not be saved must not count as known
    memory.listed, memory.listed_at = listed, started
    memory.note_records(len(records), diag)
    memory.counts, memory.req_time = _count(records), diag.req_time
    memory.full_at = started if is_full else memory.full_at
    settle(open_submits, looked_at=started, complete=True, answers_since=memory.answers_since)
    return bool(changes.rows or ended)


def _list(
    memory: Memory, gateway: SlurmGateway, diag: Diag, started: dt.datetime, since: int | None
) -> tuple[JobRecord, ...] | None:
    """None where nothing changed."""
    try:
        listing = gateway.jobs(unchanged_since=since)
    except errors.NotReachable as error:
        cause = error.__cause__
        if isinstance(cause, NoAnswer) and cause.timed_out and diag.jobs_pending > SURELY_SHORT:
            memory.list_failed_at = started  # it is longer than was thought
        raise
    memory.list_failed_at = None
    return None if listing is None else listing.jobs


def _written_since(cluster: Cluster, moment: dt.datetime | None) -> Iterable[int]:
    """Jobs whose rows somebody else wrote, for an act or as another observer: they may tell otherwise."""
    if moment is None:
        return ()
    active = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES, observed_at__gt=moment)
    return active.values_list("slurm_job_id", flat=True)


def _count(records: Iterable[JobRecord]) -> tuple[int, int]:
    """(tasks at work, tasks that wait)."""
    counts: Counter[bool] = Counter()
    for record in records:
        state = state_of(record)
        if state in ACTIVE_STATES and not is_our_check(record):
            counts[state == JobState.PENDING] += tasks_of(record)
    return counts[False], counts[True]
