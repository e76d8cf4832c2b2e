"""Reads what ended since the last look, a window at a time, and says when to look again."""

from __future__ import annotations

import datetime as dt
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import Q

from clusters import hints
from clusters.clients.slurmrest.accounting import merged
from clusters.models import Cluster, Phase, SlurmEndpoint
from jobs.history import books
from jobs.history.models import HistoryCursor
from jobs.history.saving import save
from jobs.history.seeking import seek
from jobs.rules import saving as rules
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState

log = structlog.get_logger(__name__)

TASK: Final = "jobs.read_history"
# slurmctld tells of a start and an end some seconds late, and again after slurmdbd was away
OVERLAP: Final = dt.timedelta(minutes=10)
LATE_OVERLAP: Final = dt.timedelta(hours=2)  # once an hour, and after trouble
CLOCKS: Final = dt.timedelta(minutes=2)  # how far Slurm's clock may be from ours
EVERY: Final = dt.timedelta(seconds=60)
LONGEST_WINDOW: Final = 24 * 3600
SHORTEST_WINDOW: Final = 5 * 60
LONGEST_BACK_OFF: Final = dt.timedelta(minutes=30)
MARGIN: Final = dt.timedelta(seconds=15)


def due(now: dt.datetime) -> list[UUID]:
    """Clusters with accounting whose history may be read on; a cursor is made for a new one."""
    known = SlurmEndpoint.objects.exclude(url="").exclude(api_version="")
    known = known.filter(cluster__site__drivers__has_key="accounting", cluster__deleted_at=None)
    for cluster in Cluster.objects.filter(slurm__in=known, history=None).exclude(ready_at=None):
        HistoryCursor.objects.get_or_create(
            cluster=cluster,
            defaults={"read_until": cluster.created_at, "window_seconds": LONGEST_WINDOW, "next_at": now},
        )
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    rows = HistoryCursor.objects.filter(free, next_at__lte=now, cluster__slurm__in=known)
    rows = rows.exclude(cluster__phase__in=[Phase.DELETED, Phase.FAILED]).order_by("next_at")
    return list(rows.values_list("cluster", flat=True))


def send_due() -> None:
    """A hint for each cluster that is due."""
    for key in due(clock.now()):
        hints.send(TASK, key=key, queue="default")


def read(cluster_id: UUID | str) -> int:
    """Read one window of a cluster's accounting; how many jobs it brought. Somebody else's turn: 0."""
    now = clock.now()
    until = now + dt.timedelta(seconds=int(settings.CELERY_TASK_TIME_LIMIT)) + MARGIN
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    rows = HistoryCursor.objects.filter(cluster_id=cluster_id)
    if not rows.filter(free, next_at__lte=now).update(lease_until=until):
        return 0
    cursor = rows.select_related("cluster__slurm", "cluster__site").get()
    try:
        return _read(cursor, now)
    except (OutsideError, WrongState) as error:
        _back_off(cursor, now, error.message)
        return 0
    finally:
        HistoryCursor.objects.filter(pk=cursor.pk, lease_until=until).update(lease_until=None)


def _read(cursor: HistoryCursor, now: dt.datetime) -> int:
    since = cursor.read_until - (LATE_OVERLAP if cursor.failures or now.minute == 0 else OVERLAP)
    until = min(now + CLOCKS, cursor.read_until + dt.timedelta(seconds=cursor.window_seconds))
    with books.books_of(cursor.cluster.slurm) as found:
        records = list(merged(found.jobs(int(since.timestamp()), int(until.timestamp()))))
        is_whole = until > now
        told = None
        if is_whole:  # beside the newest jobs, not while old ones are caught up with
            told = rules.read(found, cursor.cluster.external_name)
            in_window = {(one.job_id, one.submit_time) for one in records}
            records += merged(seek(cursor.cluster, found, now=now, told=in_window))
    saved = save(cursor.cluster, records, read_at=now)
    if told is not None:
        rules.save(cursor.cluster, told, seen_at=now)
    HistoryCursor.objects.filter(pk=cursor.pk).update(
        read_until=min(until, now),
        window_seconds=min(cursor.window_seconds * 2, LONGEST_WINDOW),
        next_at=now + EVERY if is_whole else now,
        failures=0,
        trouble="",
    )
    return saved


def _back_off(cursor: HistoryCursor, now: dt.datetime, trouble: str) -> None:
    log.info("history.not_read", cluster=str(cursor.cluster_id), trouble=trouble)
    pause = min(EVERY * 2 ** min(cursor.failures, 5), LONGEST_BACK_OFF)
    HistoryCursor.objects.filter(pk=cursor.pk).update(
        failures=cursor.failures + 1,
        trouble=trouble[:300],
        # an answer that took too long may have been too long
        window_seconds=max(cursor.window_seconds // 2, SHORTEST_WINDOW),
        next_at=now + pause,
    )
