"""The right of one worker to act on one cluster for a while. Each claim raises the epoch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from clusters.models import Cluster, Phase
from portal.lib import clock

MARGIN = 15  # seconds beyond the hard limit of a task: by then its worker is certainly gone


class LeaseLost(Exception):
    """Another worker claimed the cluster: this one's writes hit no row and its pass ends."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a claim gave. `wake` and `generation` tell whether somebody asked for more meanwhile."""

    cluster_id: UUID
    epoch: int
    wake: int
    generation: int


def claim(cluster_id: UUID | str) -> Lease | None:
    """Compare and swap. None if another worker holds it, or there is nothing to do with this cluster."""
    row = (
        Cluster.objects.filter(pk=cluster_id, paused=False)
        .exclude(phase__in=[Phase.DELETED, Phase.FAILED])
        .first()
    )
    if row is None:
        return None
    now = clock.now()
    until = now + dt.timedelta(seconds=int(settings.CELERY_TASK_TIME_LIMIT) + MARGIN)
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    hit = Cluster.objects.filter(free, pk=row.pk, lease_epoch=row.lease_epoch, paused=False).update(
        lease_until=until, lease_epoch=row.lease_epoch + 1
    )
    if hit != 1:
        return None
    # read after the claim: from here on every change raises `wake` beyond what is read
    fresh = Cluster.objects.values_list("wake", "generation").get(pk=row.pk)
    return Lease(row.pk, row.lease_epoch + 1, *fresh)


@contextmanager
def held(lease: Lease) -> Iterator[Cluster]:
    """One transaction in which the lease is certainly ours. Raises LeaseLost before anything is written."""
    with transaction.atomic():
        row = (
            Cluster.objects.select_for_update(of=("self",))
            .filter(pk=lease.cluster_id, lease_epoch=lease.epoch)
            .first()
        )
        if row is None:
            raise LeaseLost
        yield row


def release(lease: Lease, *, next_at: dt.datetime | None) -> None:
    """Give the lease back and say when to look again; at once if somebody asked meanwhile."""
    mine = Cluster.objects.filter(pk=lease.cluster_id, lease_epoch=lease.epoch)
    if not mine.filter(wake=lease.wake).update(lease_until=None, next_reconcile_at=next_at):
        mine.update(lease_until=None, next_reconcile_at=clock.now())
