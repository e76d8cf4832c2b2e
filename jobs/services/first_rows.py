"""The row of a job that Slurm just took, from what was sent: the next look completes it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from clusters.clients.slurmrest.gres import Gpus
from clusters.clients.slurmrest.models import JobId, JobRecord, SubmitRequest
from jobs import live
from jobs.models import Job, JobEvent, Submission
from jobs.observer import lines
from jobs.observer.columns import columns_of
from jobs.parsing.gpus import wanted_gpus
from jobs.services.capacity import ClusterView
from portal.lib.copying import add_rows
from tenants.live.topics import Topic

HELD = "JobHeldUser"  # Slurm's word


@dataclass(frozen=True, slots=True)
class Taken:
    """A submit that Slurm took."""

    submission: Submission
    request: SubmitRequest
    job_id: int
    message: str = ""


def rows_of(
    taken: Sequence[Taken], view: ClusterView, *, answered_at: dt.datetime
) -> tuple[dict[uuid.UUID, Job], tuple[Topic, ...]]:
    """The row of each, by its submission's key, and the topics that new ones change; all of one cluster.

    Needs an open transaction and the turn of jobs.observer.turns. They were seen when Slurm answered: a look
    that began before says nothing of them. The observer may have been quicker, and what it saw stands.
    """
    marks = {one.submission.mark: one.submission for one in taken}
    numbers = {one.submission.pk: one.job_id for one in taken}
    found: dict[uuid.UUID, Job] = {}
    # not by its cluster, whose index leads to all of its jobs: who wrote another's mark has another number
    for job in Job.objects.filter(mark__in=list(marks)):
        submission = marks[job.mark]
        if (job.cluster_id, job.slurm_job_id) == (submission.cluster_id, numbers[submission.pk]):
            found[submission.pk] = job
    new = {one.submission.pk: _row(one, view, answered_at) for one in taken if one.submission.pk not in found}
    _save(list(new.values()))
    owners = {one.submission.identity.membership_id for one in taken}
    topics = [topic for job in new.values() for owner in owners for topic in live.of_submitted(job, owner)]
    return found | new, tuple(dict.fromkeys(topics))


def _save(jobs: list[Job]) -> None:
    add_rows(jobs)
    add_rows([JobEvent(job=job, at=job.submit_time, state=job.state, reason=job.reason) for job in jobs])
    for job in jobs:
        job.line_state = job.state  # by the database
    if of_groups := [job for job in jobs if job.group_id is not None]:
        lines.fold(of_groups)
        for job in of_groups:
            job.refresh_from_db(fields=["is_line", "group_state", "group_states", "line_state"])


def _row(one: Taken, view: ClusterView, answered_at: dt.datetime) -> Job:
    submission = one.submission
    columns = columns_of(_record(submission, one.request, one.job_id, view))
    return Job(
        tenant_id=submission.tenant_id,
        cluster=submission.cluster,
        identity=submission.identity,
        owner=submission.user,
        slurm_job_id=one.job_id,
        observed_at=answered_at,
        **columns | {"submit_time": submission.sent_at},
    )


def _record(submission: Submission, request: SubmitRequest, job_id: int, view: ClusterView) -> JobRecord:
    """As Slurm will tell it. What it works out by itself, such as the number of CPUs, is left open."""
    partition = view.find((request.partition or "").partition(",")[0] or None)
    limit = request.time_limit_minutes
    if limit is None and partition is not None:
        limit = partition.default_time or partition.max_time
    gpus = [wanted for _name, wanted in wanted_gpus(_wishes(request))]
    is_one_task = (request.tasks or 1) == 1
    return JobRecord(
        job_id=JobId(job_id),
        name=request.name or "",
        state="PENDING",
        reason=HELD if request.hold else "",
        user_name=submission.identity.name,
        account=request.account or "",
        partition=request.partition or (partition.name if partition else ""),
        qos=request.qos or "",
        comment=request.comment or "",
        array_job_id=job_id if request.array else None,
        array_task_string=request.array or "",
        het_job_id=job_id if request.components else None,
        het_job_offset=0 if request.components else None,
        time_limit=limit,
        node_count=request.nodes or (1 if is_one_task else None),
        cpus=request.cpus_per_task if is_one_task else None,
        memory_per_node=request.memory_mib,
        memory_per_cpu=request.memory_per_cpu_mib,
        gpus=Gpus(sum(wanted.count for wanted in gpus)),
        working_directory=request.working_directory or "",
        standard_output=request.stdout or "",
        standard_error=request.stderr or "",
    )


def _wishes(request: SubmitRequest) -> dict[str, object]:
    return {name: getattr(request, name) for name in ("gpus", "gpus_per_node", "gpus_per_job", "gres")}
