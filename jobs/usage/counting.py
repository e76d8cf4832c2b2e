"""Adds up what jobs used, in the database: one statement, however many jobs there are.

A job counts on each day on which it ran, for as long as it ran on it. A job that runs counts until now; one
that ended without being seen to counts until it was first missing. What it costs is its share of its nodes
at the price that was agreed for their pool.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from django.db import connection
from django.db.models import Case, DateTimeField, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Greatest, Least

from jobs.models import AT_WORK_STATES, Job
from jobs.usage.spans import Span
from tenants.actor import Actor

CENT = Decimal("0.01")
_PARTS = """
WITH job AS ({jobs}), part AS (
    SELECT job.id, job.cluster_id, job.owner_id, job.user_name, job.account, job.partition, day::date AS day,
           CASE WHEN job.owner_id IS NULL THEN job.user_name ELSE '' END AS stranger,
           extract(epoch FROM least(job.ended, day + interval '1 day') - greatest(job.began, day)) AS seconds,
           coalesce(job.gpus, 0) AS gpus, coalesce(job.cpus, 0) AS cpus,
           coalesce(pool.price_per_hour, 0) * greatest(
               coalesce(job.gpus, 0)::numeric / greatest(flavor.gpu_count, 1),
               coalesce(job.cpus, 0)::numeric / greatest(flavor.cpus, 1)) AS price
    FROM job
    CROSS JOIN LATERAL generate_series(
        date_trunc('day', job.began, 'UTC'), job.ended - interval '1 microsecond', interval '1 day') AS day
    LEFT JOIN clusters_nodepool AS pool ON pool.cluster_id = job.cluster_id AND pool.name = job.partition
    LEFT JOIN clusters_flavor AS flavor ON flavor.id = pool.flavor_id
)
SELECT {keys}, count(DISTINCT id), coalesce(sum(seconds * gpus), 0) / 3600,
       coalesce(sum(seconds * cpus), 0) / 3600, coalesce(sum(seconds::numeric * price), 0) / 3600
FROM part GROUP BY {groups}
"""
KINDS = ("day", "cluster", "member", "account", "partition")
_JOB = ("cluster_id", "owner_id", "user_name", "account", "partition")
_COLUMNS = ", ".join(("day", *_JOB))
_KEYS = "GROUPING(day, cluster_id, owner_id, account, partition), " + _COLUMNS.replace(
    "user_name", "stranger"
)
_SETS = "GROUPING SETS ((day), (cluster_id), (owner_id, stranger), (account), (cluster_id, partition), ())"
# bits of GROUPING: 1 where a row was not grouped by that column
_BY = {0b01111: "day", 0b10111: "cluster", 0b11011: "member", 0b11101: "account", 0b10110: "partition"}


@dataclass(frozen=True, slots=True)
class Question:
    """Whose jobs, of which days, until when, and of which cluster only."""

    actor: Actor
    span: Span
    now: dt.datetime
    cluster: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """What some jobs used. `cost` is in the currency of the offerings."""

    jobs: int = 0
    gpu_hours: float = 0.0
    cpu_hours: float = 0.0
    cost: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Row:
    """An amount, and what it is of; what it is not grouped by is empty."""

    amount: Amount
    day: dt.date | None = None
    cluster: uuid.UUID | None = None
    owner: uuid.UUID | int | None = None
    user_name: str = ""  # where members are added up: of who is none
    account: str = ""
    partition: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """The same jobs, by each kind, the most GPU-hours first; days in their order."""

    total: Amount
    by: dict[str, list[Row]]


def count(asked: Question) -> Counted:
    """Of the jobs of the actor's tenant that ran in these days. One statement."""
    found: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    total = Amount()
    for grouping, *row in _run(asked, _KEYS, _SETS):
        kind = _BY.get(grouping)
        if kind is None:
            total = _row(row).amount
        else:
            found[kind].append(_row(row))
    for kind in KINDS[1:]:
        found[kind].sort(key=lambda one: (-one.amount.gpu_hours, -one.amount.cpu_hours, -one.amount.jobs))
    found["day"].sort(key=lambda one: one.day or asked.span.first)
    return Counted(total, found)


def lines(asked: Question) -> list[Row]:
    """By day and all else at once, for a file. One statement."""
    return [_row(row) for row in _run(asked, _COLUMNS, f"{_COLUMNS} ORDER BY {_COLUMNS}")]


def _run(asked: Question, keys: str, groups: str) -> list[Any]:
    end = min(asked.span.until, asked.now)
    if end <= asked.span.since:
        return []
    jobs, parameters = _jobs(asked, end)
    with connection.cursor() as cursor:
        cursor.execute(_PARTS.format(jobs=jobs, keys=keys, groups=groups), parameters)
        return list(cursor.fetchall())


def _jobs(asked: Question, end: dt.datetime) -> tuple[str, Sequence[Any]]:
    """Through the one door: the jobs that ran in the span, with when they began and ended in it."""
    since = asked.span.since
    rows = Job.objects.for_actor(asked.actor).filter(start_time__lt=end).exclude(state="PENDING")
    rows = rows.filter(Q(state__in=AT_WORK_STATES) | Q(end_time__gt=since) | Q(end_time=None))
    if asked.cluster is not None:
        rows = rows.filter(cluster=asked.cluster)
    ran = rows.annotate(
        # of a job that runs, end_time is when its limit ends
        began=Greatest("start_time", Value(since, output_field=DateTimeField())),
        ended=Case(
            When(state__in=AT_WORK_STATES, then=Value(end, output_field=DateTimeField())),
            default=Least(Coalesce("end_time", "observed_at"), Value(end, output_field=DateTimeField())),
        ),
    )
    ran = ran.filter(began__lt=F("ended")).order_by()
    names = ("id", *_JOB, "gpus", "cpus", "began", "ended")
    inner, parameters = cast("QuerySet[Any]", ran).values_list(*names).query.sql_with_params()
    return f"SELECT * FROM ({inner}) AS seen ({', '.join(names)})", parameters  # noqa: S608 -- Django's own


def _row(row: Sequence[Any]) -> Row:
    day, cluster, owner, user_name, account, partition, jobs, gpu_hours, cpu_hours, cost = row
    amount = Amount(jobs, float(gpu_hours), float(cpu_hours), Decimal(cost).quantize(CENT))
    return Row(amount, day, cluster, owner, user_name or "", account or "", partition or "")
