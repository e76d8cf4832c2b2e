"""Which topics a change of jobs touches, and the kinds that are shown live."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Q

from jobs.models import Job
from tenants.live.topics import Topic
from tenants.models import Membership

JOB = "job"
QUEUE = "queue"
MY_JOBS = "my-jobs"
MY_OVERVIEW = "my-overview"
ALL_JOBS = "all-jobs"
TASKS = "job-tasks"
SUBMISSION = "submission"


def job(row: Job) -> Topic:
    """The job's page."""
    return Topic(row.tenant_id, JOB, row.pk)


def tasks(line: Job) -> Topic:
    """The page of the array or het job for which this row stands."""
    return Topic(line.tenant_id, TASKS, line.pk)


def queue(tenant_id: uuid.UUID, cluster_id: uuid.UUID) -> Topic:
    """The queue page of a cluster."""
    return Topic(tenant_id, QUEUE, cluster_id)


def of_jobs(rows: Iterable[Job], *, new: Iterable[Job] = ()) -> tuple[Topic, ...]:
    """Pages of these jobs, the queues they stand in, and the lists of their owners and tenants.

    Nobody has the page of a `new` one open yet.
    """
    known = list(rows)
    changed = [*known, *new]
    owners = {(row.tenant_id, row.owner_id) for row in changed if row.owner_id is not None}
    memberships = Membership.objects.filter(
        tenant_id__in={tenant for tenant, _ in owners},
        user_id__in={user for _, user in owners},
        ended_at=None,
    )
    lists = (
        [
            Topic(membership.tenant_id, kind, membership.pk)
            for membership in memberships
            for kind in (MY_JOBS, MY_OVERVIEW)
        ]
        if owners
        else []
    )
    return tuple(
        dict.fromkeys(
            [
                *(job(row) for row in known),
                *(queue(row.tenant_id, row.cluster_id) for row in changed),
                *(Topic(row.tenant_id, ALL_JOBS, row.tenant_id) for row in changed),
                *lists,
                *(tasks(line) for line in _lines(changed)),
            ]
        )
    )


def of_submitted(row: Job, membership_id: uuid.UUID | None) -> tuple[Topic, ...]:
    """As of_jobs for one new row, of whom its membership is known already."""
    mine = [Topic(row.tenant_id, kind, membership_id) for kind in (MY_JOBS, MY_OVERVIEW) if membership_id]
    return (queue(row.tenant_id, row.cluster_id), Topic(row.tenant_id, ALL_JOBS, row.tenant_id), *mine)


def _lines(rows: Iterable[Job]) -> list[Job]:
    """The rows that stand for the arrays and sets of these."""
    groups = {(row.cluster_id, row.group_id) for row in rows if row.group_id is not None}
    if not groups:
        return []
    numbers = {number for _, number in groups}
    found = Job.objects.filter(
        Q(array_job_id__in=numbers) | Q(het_job_id__in=numbers),
        is_line=True,
        cluster_id__in={cluster for cluster, _ in groups},
    ).only("tenant_id", "cluster_id", "array_job_id", "het_job_id")
    return [line for line in found if (line.cluster_id, line.group_id) in groups]
