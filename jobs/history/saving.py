"""Completes rows from accounting: matched by id and submit time, and never against what was seen better.

The observer sees a job while Slurm still has it, with its exit code; accounting tells of the rest. So of a
row that ended only what is not known is filled in, and a row that is still active is the observer's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from clusters.clients.slurmrest.models import FINISHED_STATES
from clusters.clients.slurmrest.past import PastJob
from clusters.models import Cluster, SlurmIdentity
from jobs import live
from jobs.history import steps
from jobs.history.models import JobSteps, JobUse
from jobs.models import Job, JobEvent, JobState
from jobs.observer import lines, turns
from jobs.observer.columns import OUR_CHECKS, moment
from portal.lib.types import JSONDict
from tenants.live.topics import publish

BATCH = 500
COLUMNS = (
    *(
        "state",
        "reason",
        "account",
        "qos",
        "nodes",
        "node_count",
        "cpus",
        "gpus",
        "exit_status",
        "exit_signal",
    ),
    *("start_time", "end_time"),
)
USED = (
    *("elapsed_seconds", "cpus", "cpu_seconds", "memory_mib", "memory_given_mib", "gpu_percent"),
    *("idle_cpu_seconds", "cpu_percent", "memory_percent", "ended_at"),
)


@dataclass(slots=True)
class _Changes:
    new: list[Job] = field(default_factory=list)
    changed: list[Job] = field(default_factory=list)
    events: list[JobEvent] = field(default_factory=list)
    uses: list[JobUse] = field(default_factory=list)
    steps: list[JobSteps] = field(default_factory=list)


def save(cluster: Cluster, records: Sequence[PastJob], *, read_at: dt.datetime) -> int:
    """Write what accounting told of jobs that ended, and of the steps of those that run.

    Returns how many rows of jobs are new or changed.
    """
    ended = [one for one in records if _has_ended(one)]
    at_work = [one for one in records if one.steps and one.state not in FINISHED_STATES]
    changes = _Changes()
    with transaction.atomic():
        turns.take(cluster.pk)  # the observer is the other writer
        rows = _rows(cluster, [*ended, *at_work])
        owners = _owners(cluster)
        for record in ended:
            row = rows.get((record.job_id, record.submit_time))
            if row is None:
                row = _new_row(cluster, record, owners, read_at)
                changes.new.append(row)
                changes.events.append(_event(row))
            elif row.is_active:
                at_work.append(record)
                continue  # the observer's: it has not told yet how the job ended
            else:
                _complete(changes, row, record)
            if (use := _use_of(row, record)) is not None:
                changes.uses.append(use)
            changes.steps.append(steps.kept(row, record))
        for record in at_work:
            if (row := rows.get((record.job_id, record.submit_time))) is not None:
                changes.steps.append(steps.kept(row, record))
        _write(changes)
    return len(changes.new) + len(changes.changed)


def _has_ended(record: PastJob) -> bool:
    return (
        record.state in FINISHED_STATES
        and record.name not in OUR_CHECKS
        and not record.is_waiting_rest
        and record.submit_time > 0
    )


def _rows(cluster: Cluster, records: Iterable[PastJob]) -> dict[tuple[int, int], Job]:
    found = Job.objects.filter(cluster=cluster, slurm_job_id__in={one.job_id for one in records})
    return {(row.slurm_job_id, int(row.submit_time.timestamp())): row for row in found}


def _owners(cluster: Cluster) -> dict[str, SlurmIdentity]:
    found = SlurmIdentity.objects.filter(cluster=cluster).select_related("membership")
    return {identity.name: identity for identity in found}


def _new_row(
    cluster: Cluster, record: PastJob, owners: dict[str, SlurmIdentity], read_at: dt.datetime
) -> Job:
    identity = owners.get(record.user)
    return Job(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        identity=identity,
        owner_id=identity.membership.user_id if identity and identity.membership else None,
        slurm_job_id=record.job_id,
        array_job_id=record.array_job_id,
        array_task_id=record.array_task_id,
        het_job_id=record.het_job_id,
        het_offset=record.het_job_offset,
        name=record.name[:1024],
        user_name=record.user[:64],
        partition=record.partition[:200],
        submit_time=moment(record.submit_time) or read_at,
        observed_at=read_at,
        **_columns(record),
    )


def _columns(record: PastJob) -> JSONDict:
    code = record.exit_code
    return {
        "state": JobState(record.state),
        "reason": record.reason[:200],
        "account": record.account[:200],
        "qos": record.qos[:200],
        "nodes": record.nodes,
        "node_count": record.node_count or None,
        "cpus": record.cpus or None,
        "gpus": record.gpus,
        "exit_status": code.status if code else None,
        "exit_signal": code.signal if code else None,
        "start_time": moment(record.start_time),
        "end_time": moment(record.end_time),
    }


def _complete(changes: _Changes, row: Job, record: PastJob) -> None:
    told = _columns(record)
    if row.state != JobState.ENDED:
        # how it ended was seen; a start, an end or an account may be missing
        told = {name: value for name, value in told.items() if name not in {"state", "reason"}}
    was_unknown = row.state == JobState.ENDED
    differs = [
        name
        for name, value in told.items()
        if value not in {None, ""}
        and (name in {"state", "reason"} or was_unknown or getattr(row, name) in {None, ""})
        and getattr(row, name) != value
    ]
    if not differs:
        return
    for name in differs:
        setattr(row, name, told[name])
    changes.changed.append(row)
    if "state" in differs:
        changes.events.append(_event(row))


def _event(row: Job) -> JobEvent:
    return JobEvent(job=row, at=row.end_time or row.observed_at, state=row.state, reason=row.reason)


def _use_of(row: Job, record: PastJob) -> JobUse | None:
    """What it took; None of a job that never ran."""
    ended = moment(record.end_time)
    if record.start_time is None or ended is None or not record.elapsed or not record.cpus:
        return None
    use, given = record.use, record.elapsed * record.cpus
    memory = record.memory_mib // max(record.node_count, 1) or None
    return JobUse(
        tenant_id=row.tenant_id,
        job=row,
        elapsed_seconds=record.elapsed,
        cpus=record.cpus,
        cpu_seconds=use.cpu_seconds,
        memory_mib=use.memory_mib,
        memory_given_mib=memory,
        gpu_percent=use.gpu_percent,
        idle_cpu_seconds=None if use.cpu_seconds is None else max(given - use.cpu_seconds, 0.0),
        cpu_percent=None if use.cpu_seconds is None else min(100 * use.cpu_seconds / given, 100.0),
        memory_percent=(
            100 * use.memory_mib / memory if use.memory_mib is not None and memory is not None else None
        ),
        ended_at=ended,
    )


def _write(changes: _Changes) -> None:
    Job.objects.bulk_create(changes.new, batch_size=BATCH)
    Job.objects.bulk_update(changes.changed, COLUMNS, batch_size=BATCH)
    JobEvent.objects.bulk_create(changes.events, batch_size=BATCH)
    known = {use.job_id: use for use in JobUse.objects.filter(job__in=[use.job for use in changes.uses])}
    fresh = [use for use in changes.uses if use.job_id not in known or _differ(known[use.job_id], use)]
    JobUse.objects.bulk_create(
        fresh, batch_size=BATCH, update_conflicts=True, unique_fields=["job"], update_fields=USED
    )
    told = _write_steps(changes.steps)
    lines.fold([*changes.new, *changes.changed])
    touched = {row.pk: row for row in changes.changed} | {use.job.pk: use.job for use in fresh}
    new = {row.pk for row in changes.new}
    touched = {key: row for key, row in touched.items() if key not in new}
    topics = live.of_jobs(touched.values(), new=changes.new)
    for topic in dict.fromkeys([*topics, *(live.job(one.job) for one in told if one.job.pk not in new)]):
        publish(topic)


def _write_steps(found: list[JobSteps]) -> list[JobSteps]:
    """Those that are told of otherwise than before; that there are none is not written."""
    before = JobSteps.objects.filter(job__in=[one.job for one in found])
    known = {one.job_id: (one.steps, one.count) for one in before}
    fresh = [one for one in found if one.steps and known.get(one.job_id) != (one.steps, one.count)]
    JobSteps.objects.bulk_create(
        fresh,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["job"],
        update_fields=["steps", "count"],
    )
    return fresh


def _differ(one: JobUse, other: JobUse) -> bool:
    return any(getattr(one, name) != getattr(other, name) for name in USED)
