"""What follows from any source of the queue as a whole: who is gone ended, and details are asked for."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Container, Iterable, Iterator
from typing import Final, TypeVar

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobRecord
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job
from jobs.observer import singles
from jobs.observer.rows import end_rows, save_records
from jobs.observer.sources import Whole
from portal.lib import clock
from tenants.scoping import TenantQuerySet

T = TypeVar("T")
BATCH: Final = 500  # rows saved in one transaction; whoever submits meanwhile waits for no more
ASK_BUDGET: Final = 3.0  # seconds


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of so many at most."""
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def end_unseen(cluster: Cluster, seen: Container[int], looked_at: dt.datetime) -> int:
    """`seen` are the ids of all records that Slurm had after `looked_at`; returns how many more ended."""
    # ids alone first: mostly none is missing, and of a long queue they are half the work
    numbers = _active(cluster, looked_at).values_list("slurm_job_id", flat=True)
    return end_missing(cluster, {number for number in numbers if number not in seen}, looked_at)


def end_missing(cluster: Cluster, missing: Collection[int], looked_at: dt.datetime) -> int:
    """These ids are in no record that Slurm had after `looked_at`; returns how many they are."""
    if missing:
        rows = _active(cluster, looked_at).filter(slurm_job_id__in=missing)
        for keys in batches(rows.values_list("pk", flat=True)):
            end_rows(cluster, keys, looked_at=looked_at)
    return len(missing)


def _active(cluster: Cluster, looked_at: dt.datetime) -> TenantQuerySet[Job]:
    return Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES, observed_at__lte=looked_at)


def ask(cluster: Cluster, whole: Whole, gateway: SlurmGateway, *, most: int) -> None:
    """Exit codes and whatever a line does not tell; what is not reached is asked for in the next pass."""
    asked = [whole.to_ask.popleft() for _ in range(min(most, len(whole.to_ask)))]
    looked_at, left = clock.now(), dict.fromkeys(asked)
    try:
        records: list[JobRecord] = []
        for number, found in singles.ask(gateway, asked, budget=ASK_BUDGET):
            left.pop(number, None)
            records += found
        save_records(cluster, records, looked_at=looked_at)
    finally:
        whole.to_ask.extendleft(left)
