"""The row of a job that Slurm just took, from what was sent: the next look completes it."""

from __future__ import annotations

import datetime as dt

from clusters.clients.slurmrest.gres import Gpus
from clusters.clients.slurmrest.models import JobId, JobRecord, SubmitRequest
from jobs import live
from jobs.models import Job, JobEvent, Submission
from jobs.observer import lines
from jobs.observer.columns import columns_of
from jobs.parsing.gpus import wanted_gpus
from jobs.services.capacity import ClusterView
from tenants.live.topics import Topic

HELD = "JobHeldUser"  # Slurm's word


def row_of(
    submission: Submission,
    request: SubmitRequest,
    job_id: int,
    view: ClusterView,
    *,
    answered_at: dt.datetime,
) -> tuple[Job, tuple[Topic, ...]]:
    """The row and the topics that it changes. Needs an open transaction and the turn of jobs.observer.turns.

    It was seen when Slurm answered: a look that began before says nothing of it. The observer may have been
    quicker, and what it saw stands.
    """
    known = Job.objects.filter(cluster_id=submission.cluster_id, slurm_job_id=job_id, mark=submission.mark)
    if (found := known.first()) is not None:
        return found, ()
    columns = columns_of(_record(submission, request, job_id, view))
    job = Job(
        tenant_id=submission.tenant_id,
        cluster_id=submission.cluster_id,
        identity=submission.identity,
        owner=submission.user,
        slurm_job_id=job_id,
        observed_at=answered_at,
        **columns | {"submit_time": submission.sent_at},
    )
    job.save(force_insert=True)
    JobEvent.objects.bulk_create([JobEvent(job=job, at=job.submit_time, state=job.state, reason=job.reason)])
    if job.group_id is not None:
        lines.fold([job])
        job.refresh_from_db(fields=["is_line", "group_state", "group_states", "line_state"])
    return job, live.of_submitted(job, submission.identity.membership_id)


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
