"""A look at single jobs of a long queue, by their ids: it proves nothing about any other job."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobRecord
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job, Submission
from jobs.observer import pace, singles
from jobs.observer.resolve import settle
from jobs.observer.rows import save_records
from jobs.observer.sources import Memory

# of jobs whose pages are open; of more each has its turn, and a pass over the whole queue comes in between
WATCHED_A_LOOK: Final = 100
FEW_OTHERS: Final = 20  # the newest that were submitted here, where another source knows the whole queue
OTHERS_A_LOOK: Final = 200  # where none does: of the newest 1,000, in turn
MOST_OTHERS: Final = 1_000


def by_ids(
    cluster: Cluster,
    memory: Memory,
    gateway: SlurmGateway,
    started: dt.datetime,
    open_submits: Sequence[Submission],
    *,
    is_known: bool,
) -> bool:
    """Whether anything changed. `is_known`: another source knows the queue as a whole.

    However many jobs are watched, so many are asked for at most: who was asked for longest ago comes first.
    """
    active = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES)
    open_pages = active.filter(slurm_job_id__in=pace.watched_jobs(cluster.pk))
    own = active.exclude(owner=None).order_by("-submit_time")[: FEW_OTHERS if is_known else MOST_OTHERS]
    watched, others = (list(rows.values_list("slurm_job_id", flat=True)) for rows in (open_pages, own))
    asked = {number: memory.asked[number] for number in (*watched, *others) if number in memory.asked}
    turn = max(asked.values(), default=0) + 1
    chosen = _in_turn(watched, asked, WATCHED_A_LOOK), _in_turn(others, asked, OTHERS_A_LOOK)
    records: list[JobRecord] = []
    for number, found in singles.ask(gateway, chain(*chosen)):
        asked[number] = turn
        records += found
    memory.asked = asked
    changes = save_records(cluster, records, looked_at=started)
    memory.whole.note_changed(row.slurm_job_id for row in changes.rows)
    settle(open_submits, looked_at=started, complete=False)
    return bool(changes.rows)


def _in_turn(numbers: Iterable[int], asked: Mapping[int, int], most: int) -> list[int]:
    return sorted(numbers, key=lambda number: asked.get(number, 0))[:most]
