"""The live regions of the jobs pages: the same partials for page, poll and socket."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import cast

from django.db import models

from clusters.models import Cluster, Stack
from jobs import live, selectors
from jobs.filters import Filter
from jobs.mine import my_context
from jobs.models import Job, Submission
from jobs.observer.pace import note_watched, note_watched_job
from jobs.services import actions
from jobs.web import arrays, job, lists, submission
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.registry import KINDS, LiveKind, register
from tenants.models import Membership, Tenant
from tenants.scoping import TenantQuerySet


def register_all() -> None:
    """Once, when the app is ready."""
    for kind in (_JOB, _TASKS, _QUEUE, _MY_JOBS, _MY_OVERVIEW, _ALL_JOBS, _SUBMISSION):
        if kind.kind not in KINDS:
            register(kind)


def _job(actor: Actor, row: models.Model) -> JSONDict:
    return job.job_context(actor, cast(Job, row))


def _tasks(actor: Actor, row: models.Model) -> JSONDict:
    return arrays.tasks_context(actor, cast(Job, row))


def _may_act(actor: Actor, row: models.Model) -> str:
    return "acts" if actions.may_act(actor, cast(Job, row)) else ""


def _queue(actor: Actor, row: models.Model) -> JSONDict:
    return lists.queue_context(actor, cast(Cluster, row)) | {"is_live": True}


def _my_jobs(actor: Actor, row: models.Model) -> JSONDict:
    context = lists.list_context(actor, Filter())
    return context | {"subject": row, "kind": live.MY_JOBS, "is_live": True}


def _my_overview(actor: Actor, row: models.Model) -> JSONDict:
    return my_context(actor) | {"membership": row}


def _all_jobs(actor: Actor, row: models.Model) -> JSONDict:
    context = lists.list_context(actor, Filter(everyone=True))
    return context | {"subject": row, "kind": live.ALL_JOBS, "is_live": True}


def _submission(actor: Actor, row: models.Model) -> JSONDict:
    return submission.submission_context(actor, cast(Submission, row))


def _looked_at(cluster_id: uuid.UUID) -> dt.datetime | None:
    """When the observer last looked, or since when in vain; asking also says that somebody watches."""
    endpoint = selectors.endpoint_of(cluster_id)
    if endpoint is None:
        return None
    note_watched([endpoint.cluster_id])
    return endpoint.unreachable_since or endpoint.observed_at


def _job_looked_at(row: models.Model) -> dt.datetime | None:
    """The same; a silent cluster's pages stay as they are, and their jobs are watched all the same."""
    job = cast(Job, row)
    if job.is_active:
        note_watched_job(job.cluster_id, job.slurm_job_id)
    return _looked_at(job.cluster_id)


def _rows(rows: models.QuerySet[models.Model]) -> TenantQuerySet[models.Model]:
    return cast("TenantQuerySet[models.Model]", rows)


_JOB = LiveKind(
    kind=live.JOB,
    rows=lambda: _rows(Job.objects.select_related("cluster__site", "owner", "identity", "use", "told_steps")),
    template="jobs/job.html#live",
    context=_job,
    variant=_may_act,  # all that differs is who may act
    as_of=_job_looked_at,
    watches=lambda row: cast(Job, row).cluster_id,
)
_TASKS = LiveKind(
    kind=live.TASKS,
    rows=lambda: _rows(Job.objects.select_related("cluster", "owner", "identity")),
    template="jobs/tasks.html#live",
    context=_tasks,
    variant=_may_act,
    as_of=lambda row: _looked_at(cast(Job, row).cluster_id),
    watches=lambda row: cast(Job, row).cluster_id,
)
_QUEUE = LiveKind(
    kind=live.QUEUE,
    rows=lambda: _rows(Cluster.objects.filter(stack=Stack.SLURM)),
    template="jobs/queue.html#live",
    context=_queue,
    as_of=lambda row: _looked_at(cast(Cluster, row).pk),
)
_MY_JOBS = LiveKind(
    kind=live.MY_JOBS,
    rows=lambda: _rows(Membership.objects.filter(ended_at=None)),
    template="jobs/list.html#live",
    context=_my_jobs,
    per_user=True,
    as_of=lambda row: selectors.oldest_look(cast(Membership, row).tenant_id),
)
_MY_OVERVIEW = LiveKind(
    kind=live.MY_OVERVIEW,
    rows=lambda: _rows(Membership.objects.filter(ended_at=None)),
    template="jobs/_mine.html",
    context=_my_overview,
    per_user=True,
    as_of=lambda row: selectors.oldest_look(cast(Membership, row).tenant_id),
)
_ALL_JOBS = LiveKind(
    kind=live.ALL_JOBS,
    rows=lambda: _rows(Tenant.objects.all()),
    template="jobs/list.html#live",
    context=_all_jobs,
    as_of=lambda row: selectors.oldest_look(cast(Tenant, row).pk),
)
_SUBMISSION = LiveKind(
    kind=live.SUBMISSION,
    rows=lambda: _rows(Submission.objects.select_related("cluster", "user", "job", "identity")),
    template="jobs/submission.html#live",
    context=_submission,
    per_user=True,
)
