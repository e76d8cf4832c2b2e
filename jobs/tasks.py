"""Celery tasks of jobs: ids only; what is due stands in the database."""

from __future__ import annotations

from celery import shared_task

from clusters import hints
from jobs.history import reading
from jobs.limits import service as limits
from jobs.notify import mails
from jobs.services import leavers


@shared_task(name="jobs.cancel_of_leaver")  # type: ignore[untyped-decorator]
def cancel_of_leaver(membership_id: str) -> None:
    """End the jobs of one person who left a tenant."""
    leavers.cancel_of_leaver(membership_id)


@shared_task(name="jobs.cancel_due")  # type: ignore[untyped-decorator]
def cancel_due() -> None:
    """Everybody whose jobs are to end."""
    for key in leavers.due():
        hints.send(leavers.TASK, key=key, queue="default")


@shared_task(name="jobs.tell_by_mail")  # type: ignore[untyped-decorator]
def tell_by_mail() -> None:
    """Write the mails about jobs that are due into the outbox."""
    mails.queue_due()


@shared_task(name="jobs.read_history")  # type: ignore[untyped-decorator]
def read_history(cluster_id: str) -> None:
    """What ended in one cluster since its accounting was read last."""
    reading.read(cluster_id)


@shared_task(name="jobs.read_history_due")  # type: ignore[untyped-decorator]
def read_history_due() -> None:
    """Clusters whose accounting is to be read on."""
    reading.send_due()


@shared_task(name="jobs.set_limits")  # type: ignore[untyped-decorator]
def set_limits(limit_id: str) -> None:
    """The limits of one member in one cluster."""
    limits.apply(limit_id)


@shared_task(name="jobs.set_limits_due")  # type: ignore[untyped-decorator]
def set_limits_due() -> None:
    """Limits that Slurm does not have yet."""
    limits.send_due()
