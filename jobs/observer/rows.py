"""Compares records with rows and saves what changed: rows, events and topics in one transaction."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import eq

from django.db import transaction

from clusters.clients.slurmrest.models import FINISHED_STATES, JobRecord
from clusters.models import Cluster, Phase, SlurmIdentity
from jobs import live
from jobs.models import ACTIVE_STATES, Job, JobEvent, JobState
from jobs.notify.noting import note
from jobs.observer import lines, turns
from jobs.observer.columns import columns_of, is_our_check
from jobs.observer.updates import update_rows
from portal.lib.types import JSONDict
from tenants.live.topics import publish_all

_COLUMNS = (
    *("array_job_id", "array_task_id", "array_tasks", "task_count", "het_job_id", "het_offset", "name"),
    *("user_name", "partition", "account", "qos", "state", "flags", "reason", "nodes", "node_count", "cpus"),
    *("gpus", "memory_mib", "memory_per_cpu_mib", "time_limit_minutes", "exit_status", "exit_signal"),
    *("submit_time", "eligible_time", "start_time", "end_time", "working_directory", "stdout_path"),
    *("stderr_path", "comment", "mark", "restarts"),
)
# what a line of the queue tells of a job; the rest of its columns stay as its whole record had them
QUEUE_COLUMNS = (
    *("array_tasks", "task_count", "name", "partition", "account", "qos", "state", "reason", "nodes"),
    *("node_count", "time_limit_minutes", "start_time", "end_time", "comment", "mark"),
)
FEW = 20  # records
_BATCH = 500


@dataclass(slots=True)
class Changes:
    """What one look brought."""

    new: list[Job] = field(default_factory=list)
    changed: list[Job] = field(default_factory=list)
    events: list[JobEvent] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)  # in which changed rows differ
    later: set[int] = field(default_factory=set)  # Slurm's ids of rows left alone: they were seen later

    @property
    def rows(self) -> list[Job]:
        """All rows that are not as they were."""
        return [*self.new, *self.changed]


def save_records(
    cluster: Cluster,
    records: Sequence[JobRecord],
    *,
    looked_at: dt.datetime,
    only: Sequence[str] = _COLUMNS,
) -> Changes:
    """Write what a look that began at `looked_at` told.

    A row that was seen later than that is left alone. Of rows that there are already, the columns `only`
    are written.
    """
    mine = [record for record in records if not is_our_check(record)]
    if not mine:
        return Changes()
    with transaction.atomic():
        turns.take(cluster.pk)  # beside the observer there is whoever just submitted or cancelled
        if len(mine) > FEW:
            mine = _unlike(cluster, mine, only)
        changes = Changes()
        rows = _Rows(cluster, [record.job_id for record in mine], looked_at, only)
        for record in mine:
            _apply(changes, rows, record)
        _write(changes)
    return changes


def end_rows(cluster: Cluster, keys: Sequence[uuid.UUID], *, looked_at: dt.datetime) -> Changes:
    """These are in no complete source that was read from `looked_at` on: they ended, how is not known."""
    changes = Changes()
    with transaction.atomic():
        turns.take(cluster.pk)
        for row in Job.objects.filter(pk__in=keys, state__in=ACTIVE_STATES, observed_at__lte=looked_at):
            _end(changes, row, looked_at)
        _write(changes)
    return changes


def end_jobs_of_removed_clusters(now: dt.datetime) -> int:
    """A cluster that is gone runs nothing: what was active there ended, and how is not known."""
    changes = Changes()
    with transaction.atomic():
        for row in Job.objects.filter(state__in=ACTIVE_STATES, cluster__phase=Phase.DELETED):
            _end(changes, row, now)
        _write(changes)
    return len(changes.changed)


def _unlike(cluster: Cluster, records: Iterable[JobRecord], only: Sequence[str]) -> list[JobRecord]:
    """Those that have no row which says the same: mostly few, and whole rows cost twice as much to read."""
    told = {record.job_id: record for record in records}
    rows = Job.objects.filter(cluster=cluster, slurm_job_id__in=told)
    for number, submitted, *known in rows.values_list("slurm_job_id", "submit_time", *only):
        if (record := told.get(number)) is not None:
            columns = columns_of(record)
            if columns["submit_time"] == submitted and all(map(eq, known, map(columns.get, only))):
                del told[number]
    return list(told.values())


class _Rows:
    """The rows that records of one look may belong to."""

    def __init__(
        self, cluster: Cluster, job_ids: Iterable[int], looked_at: dt.datetime, only: Sequence[str]
    ) -> None:
        self.cluster = cluster
        self.looked_at = looked_at
        self.only = only
        self.exact: dict[tuple[int, dt.datetime], Job] = {}
        self.latest: dict[int, Job] = {}
        known = Job.objects.filter(cluster=cluster, slurm_job_id__in=set(job_ids)).order_by("submit_time")
        for row in known:
            self.exact[row.slurm_job_id, row.submit_time] = row
            self.latest[row.slurm_job_id] = row

    @cached_property
    def owners(self) -> dict[str, SlurmIdentity]:
        """By account."""
        identities = SlurmIdentity.objects.filter(cluster=self.cluster).select_related("membership")
        return {identity.name: identity for identity in identities}

    def find(self, record: JobRecord, columns: JSONDict) -> Job | None:
        """By id and submit time; a requeue moves the submit time, and a placeholder had only guessed it."""
        row = self.exact.get((record.job_id, columns["submit_time"]))
        if row is not None:
            return row
        latest = self.latest.get(record.job_id)
        if latest is None or latest.submit_time > columns["submit_time"] + dt.timedelta(minutes=10):
            return None
        requeued = record.restarts > latest.restarts
        marked = bool(columns["mark"]) and latest.mark == columns["mark"] and latest.is_active
        return latest if (requeued or marked) and _may_be_one(latest, columns) else None


def _may_be_one(row: Job, columns: JSONDict) -> bool:
    """A requeue changes neither whose job it is nor its mark; the next job of its number has others."""
    marks = {row.mark, columns["mark"]} - {""}
    users = {row.user_name, columns["user_name"]} - {"", "nobody"}  # of an account that is no unix user
    return len(marks) < 2 and len(users) < 2


def _apply(changes: Changes, rows: _Rows, record: JobRecord) -> None:
    columns = columns_of(record)
    row = rows.find(record, columns)
    if row is None:
        _end_namesake(changes, rows, record.job_id, columns["submit_time"])
        identity = rows.owners.get(record.user_name or "")
        row = Job(
            tenant_id=rows.cluster.tenant_id,
            cluster=rows.cluster,
            identity=identity,
            owner_id=identity.membership.user_id if identity and identity.membership else None,
            slurm_job_id=record.job_id,
            observed_at=rows.looked_at,
            **columns,
        )
        changes.new.append(row)
        changes.events.append(_event(row, rows.looked_at, is_new=True))
    elif row.observed_at <= rows.looked_at:
        _update(changes, rows, row, columns)
    else:
        changes.later.add(record.job_id)


def _end_namesake(changes: Changes, rows: _Rows, job_id: int, submit_time: dt.datetime) -> None:
    """Slurm gives a number to one job at a time: numbers wrapped, or the cluster was built anew."""
    old, at = rows.latest.get(job_id), rows.looked_at
    if old is None or not old.is_active or old.submit_time >= submit_time:
        return
    if old.observed_at <= at:
        _end(changes, old, at)
    else:
        changes.later.add(job_id)


def _update(changes: Changes, rows: _Rows, row: Job, columns: JSONDict) -> None:
    before = (row.state, row.reason)
    fields = [name for name in rows.only if getattr(row, name) != columns[name]]
    if not fields:
        return
    for name in fields:
        setattr(row, name, columns[name])
    row.observed_at = rows.looked_at
    changes.changed.append(row)
    changes.columns.update(fields)
    if (row.state, row.reason) != before:
        changes.events.append(_event(row, rows.looked_at))


def _end(changes: Changes, row: Job, at: dt.datetime) -> None:
    row.state = JobState.ENDED
    row.reason = ""
    row.observed_at = at
    changes.changed.append(row)
    changes.columns.update(("state", "reason"))
    changes.events.append(_event(row, at))


def _event(row: Job, looked_at: dt.datetime, *, is_new: bool = False) -> JobEvent:
    """Slurm's own moment where it tells one and it has passed here, else ours."""
    told: dt.datetime | None = looked_at
    if row.state == JobState.PENDING and is_new:
        told = row.submit_time
    elif row.state == JobState.RUNNING:
        told = row.start_time
    elif row.state in FINISHED_STATES:
        told = row.end_time
    at = min(told, looked_at) if told is not None else looked_at
    return JobEvent(job=row, at=at, state=row.state, reason=row.reason)


def _write(changes: Changes) -> None:
    Job.objects.bulk_create(changes.new, batch_size=_BATCH)
    update_rows(changes.changed, [*sorted(changes.columns), "observed_at"])
    JobEvent.objects.bulk_create(changes.events, batch_size=_BATCH)
    note(changes.events)
    lines.fold(changes.rows)
    publish_all(live.of_jobs(changes.changed, new=changes.new))
