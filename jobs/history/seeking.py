"""Asks accounting, by number, for jobs whose result nobody saw and whose window was read long ago.

While the observer is away, windows are read on, and a row that is active is not touched. When it comes back
and Slurm has forgotten such a job, its row ends with an unknown result.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Collection, Iterator
from typing import Final

import structlog
from django.core.cache import cache

from clusters.clients.slurmrest.accounting import SlurmAccounting
from clusters.clients.slurmrest.past import PastJob
from clusters.models import Cluster
from jobs.models import Job, JobState
from portal.lib.errors import OutsideError

log = structlog.get_logger(__name__)

SOUGHT_FOR: Final = dt.timedelta(days=14)  # from when the row ended
AGAIN: Final = dt.timedelta(hours=1)  # and then after twice as long each time: slurmdbd may be told late
MOST: Final = 20  # jobs of one pass; each costs slurmdbd up to 0.4 s
MOST_CONSIDERED: Final = 5_000
BUDGET: Final = 10.0  # seconds of one pass
Key = tuple[int, int]  # Slurm's id, and when it was submitted


def seek(
    cluster: Cluster, books: SlurmAccounting, *, now: dt.datetime, told: Collection[Key]
) -> list[PastJob]:
    """Records of some rows whose result is not known, but for those that were `told` already."""
    end, found = time.monotonic() + BUDGET, []
    for job in _next(cluster, now, told):
        if time.monotonic() > end:
            break
        # marked first: an answer that fails each time must not keep the others waiting
        cache.set(_mark(job), 1, max(AGAIN, now - job.observed_at).total_seconds())
        try:
            records = books.job(job.slurm_job_id)
        except OutsideError as error:
            log.info("history.not_found", cluster=str(cluster.pk), trouble=error.message)
            break
        found += [record for record in records if (record.job_id, record.submit_time) == _key(job)]
    return found


def _next(cluster: Cluster, now: dt.datetime, told: Collection[Key]) -> Iterator[Job]:
    """Those that were not asked for lately; what ended last comes first."""
    rows = Job.objects.filter(cluster=cluster, state=JobState.ENDED, observed_at__gt=now - SOUGHT_FOR)
    columns = ("slurm_job_id", "submit_time", "observed_at")
    unknown = {
        _mark(row): row
        for row in rows.order_by("-observed_at", "-pk").only(*columns)[:MOST_CONSIDERED]
        if _key(row) not in told
    }
    asked = cache.get_many(unknown)
    return iter([row for mark, row in unknown.items() if mark not in asked][:MOST])


def _key(job: Job) -> Key:
    return job.slurm_job_id, int(job.submit_time.timestamp())


def _mark(job: Job) -> str:
    return f"sought:{job.pk.hex}"
