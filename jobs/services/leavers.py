"""Cancels the jobs of who left or is suspended, as the account that owns them, if the tenant wants it.

`Membership.end_jobs_since` is the wish; it is taken back only when no job is left by a look that came later.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q

from clusters import hints
from clusters.models import Phase, SlurmIdentity
from jobs.models import ACTIVE_STATES, Job, JobState
from jobs.observer.pace import poke
from jobs.services.actions import address_of, end_job
from portal.lib import clock
from portal.lib.errors import OutsideError, TemporaryError, WrongState
from tenants.actor import SYSTEM
from tenants.models import Membership

log = structlog.get_logger(__name__)

TASK = "jobs.cancel_of_leaver"
MOST = 500  # jobs of one person in one task; the next scan goes on
BUDGET = dt.timedelta(seconds=40)
LATE = dt.timedelta(seconds=30)  # what was on its way to Slurm at the end is seen by then


def membership_changed(membership: Membership) -> None:
    """Called inside the command that keeps a member out: have a worker see to the jobs on commit."""
    if membership.end_jobs_since is not None:
        key = membership.pk
        transaction.on_commit(lambda: hints.send(TASK, key=key, queue="default"), robust=True)


def due() -> list[UUID]:
    """The memberships whose jobs are to end; the truth behind the hint."""
    return list(
        Membership.objects.exclude(end_jobs_since=None)
        .order_by("end_jobs_since")
        .values_list("pk", flat=True)
    )


def cancel_of_leaver(membership_id: UUID | str) -> None:
    """Cancel what is known of one person's jobs in the tenant's clusters. Repeating it is harmless."""
    membership = (
        Membership.objects.select_related("user", "tenant")
        .filter(pk=membership_id)
        .exclude(end_jobs_since=None)
        .first()
    )
    if membership is None or membership.end_jobs_since is None:
        return
    if membership.is_working:  # came back meanwhile
        _done(membership)
        return
    left = _jobs_of(membership)
    _cancel(left, membership)
    if not left and _was_seen_without(membership):
        _done(membership)


def _jobs_of(membership: Membership) -> list[Job]:
    rows = Job.objects.select_related("cluster__slurm", "identity__cluster", "owner", "tenant")
    rows = rows.filter(identity__membership=membership, state__in=ACTIVE_STATES, cluster__deleted_at=None)
    return list(rows.order_by("submit_time", "slurm_job_id")[:MOST])


def _cancel(left: Iterable[Job], membership: Membership) -> None:
    """Ask once for each job or whole array; not where Slurm is silent, which would only fill the trail."""
    why = "left the tenant" if membership.ended_at else "suspended"
    end, asked, silent = clock.now() + BUDGET, set[tuple[object, str]](), set[object]()
    for job in left:
        address = (job.cluster_id, address_of(job))
        is_silent = job.cluster_id in silent or job.cluster.slurm.unreachable_since is not None
        if is_silent or address in asked or job.state == JobState.COMPLETING:
            continue
        if clock.now() > end:
            return
        asked.add(address)
        try:
            end_job(actor=SYSTEM, job=job, why=why)
        except OutsideError as error:
            if isinstance(error, TemporaryError):
                silent.add(job.cluster_id)
            log.info("jobs of a leaver not cancelled", job=str(job.pk), reason=error.reason)
        except WrongState:
            continue  # ended just now; the observer writes that down


def _was_seen_without(membership: Membership) -> bool:
    """Every cluster in which the person has an account was looked at since, late enough to know all jobs."""
    assert membership.end_jobs_since is not None  # noqa: S101  # the caller's condition
    late = membership.end_jobs_since + LATE
    open_ones = SlurmIdentity.objects.select_related("cluster").filter(
        membership=membership, cluster__deleted_at=None, cluster__ready_at__isnull=False
    )
    unseen = open_ones.exclude(cluster__phase__in=[Phase.DELETED, Phase.FAILED]).filter(
        Q(cluster__slurm__observed_at=None) | Q(cluster__slurm__observed_at__lt=late)
    )
    for identity in unseen:
        poke(identity.cluster)
    return not unseen


def _done(membership: Membership) -> None:
    rows = Membership.objects.filter(pk=membership.pk, end_jobs_since=membership.end_jobs_since)
    rows.update(end_jobs_since=None)
