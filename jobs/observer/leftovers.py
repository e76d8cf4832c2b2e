"""What follows from any source of the queue as a whole: who is gone ended, and details are asked for."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Container, Iterable, Iterator
from typing import Final, TypeVar

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobRecord
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job
from jobs.observer import singles
from jobs.observer.rows import end_rows, save_records
from jobs.observer.sources import Whole
from portal.lib import clock

T = TypeVar("T")
BATCH: Final = 500  # rows saved in one transaction; whoever submits meanwhile waits for no more
ASK_BUDGET: Final = 3.0  # seconds


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of so many at most."""
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def end_missing(cluster: Cluster, seen: Container[int], looked_at: dt.datetime) -> int:
    """`seen` are the ids of all records that Slurm had after `looked_at`; returns how many more ended."""
    active = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES, observed_at__lte=looked_at)
    # ids alone first: mostly none is missing, and of a long queue they are half the work
    missing = {number for number in active.values_list("slurm_job_id", flat=True) if number not in seen}
    keys_of = active.filter(slurm_job_id__in=missing).values_list("pk", flat=True)
    for keys in batches(keys_of if missing else ()):
        end_rows(cluster, keys, looked_at=looked_at)
    return len(missing)


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
