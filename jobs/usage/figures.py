"""What the page and the API show of usage: names beside amounts, what nodes cost, what the month will."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from clusters.costs import Costs, costs, forecast, month_of
from clusters.models import Cluster
from jobs.usage import counting
from jobs.usage.counting import Amount, Question, Row
from jobs.usage.spans import Span
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.models import User
from tenants.rights import Action, may

MOST = 20  # lines of each table; the file has all


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table."""

    name: str
    detail: str
    amount: Amount
    share: float  # of the GPU-hours, or of the CPU-hours where no job used a GPU; 0 to 1
    nodes_cost: Decimal | None = None  # of a cluster: what its nodes cost

    @property
    def percent(self) -> float:
        """The share as people read it."""
        return 100 * self.share


@dataclass(frozen=True, slots=True)
class Day:
    """One day, used or not."""

    date: dt.date
    amount: Amount


@dataclass(frozen=True, slots=True)
class Usage:
    """All of it."""

    span: Span
    total: Amount
    days: list[Day]
    by: dict[str, list[Line]]
    left_out: dict[str, int]  # lines that are only in the file
    shows_money: bool
    spent: Costs | None = None  # what the nodes cost in the span
    month: Costs | None = None  # this month so far
    expected: Decimal | None = None  # for the whole month

    @property
    def is_empty(self) -> bool:
        """Whether no job ran."""
        return not self.total.jobs

    def plot(self) -> JSONDict:
        """Columns of numbers, times in seconds, for the script."""
        at = [int(dt.datetime.combine(day.date, dt.time(), dt.UTC).timestamp()) for day in self.days]
        series = {
            "gpu": [round(day.amount.gpu_hours, 2) for day in self.days],
            "cpu": [round(day.amount.cpu_hours, 2) for day in self.days],
        }
        if self.shows_money:
            series["cost"] = [float(day.amount.cost) for day in self.days]
        return {"at": at, **series}


@dataclass(frozen=True, slots=True)
class Names:
    """What stands for the keys of rows."""

    clusters: dict[uuid.UUID, Cluster]
    members: dict[object, User]

    def of(self, kind: str, row: Row) -> tuple[str, str]:
        """How a row reads, and what stands beside it."""
        cluster = self.clusters.get(row.cluster) if row.cluster else None
        if kind == "cluster":
            return (cluster.name if cluster else _("a cluster that is gone"), "")
        if kind == "member":
            user = self.members.get(row.owner)
            return (str(user) if user else row.user_name or _("not a member"), "")
        if kind == "account":
            return (row.account or _("none"), "")
        return (row.partition or _("none"), cluster.name if cluster else "")


def usage(asked: Question) -> Usage:
    """Of the actor's tenant; the same number of queries for ten jobs and for ten thousand."""
    actor, span, now = asked.actor, asked.span, asked.now
    counted = counting.count(asked)
    names = Names(_clusters(actor), _members(counted.by["member"]))
    shows_money = may(actor, Action.ORDER)
    spent = costs(actor, since=span.since, until=min(span.until, now)) if shows_money else None
    by, left_out = {}, {}
    for kind in counting.KINDS[1:]:
        rows = counted.by[kind]
        by[kind] = [_line(kind, row, counted.total, names, spent) for row in rows[:MOST]]
        left_out[kind] = max(len(rows) - MOST, 0)
    known = {row.day: row.amount for row in counted.by["day"]}
    month = costs(actor, since=month_of(now)[0], until=now) if shows_money else None
    return Usage(
        span=span,
        total=counted.total,
        days=[Day(date, known.get(date, Amount())) for date in span.days],
        by=by,
        left_out=left_out,
        shows_money=shows_money,
        spent=spent,
        month=month,
        expected=forecast(month, _per_hour(names.clusters)) if month is not None else None,
    )


def _clusters(actor: Actor) -> dict[uuid.UUID, Cluster]:
    rows = Cluster.objects.for_actor(actor).prefetch_related("pools")
    return {row.pk: row for row in rows}


def _per_hour(clusters: dict[uuid.UUID, Cluster]) -> Decimal:
    charged = [row for row in clusters.values() if row.was_ready and row.deleted_at is None]
    return sum((pool.count * pool.price_per_hour for row in charged for pool in row.pools.all()), Decimal(0))


def _members(rows: list[Row]) -> dict[object, User]:
    """Who owns these rows. They came through the one door, so their owners are this tenant's people."""
    return User.objects.in_bulk({row.owner for row in rows if row.owner is not None})


def _line(kind: str, row: Row, total: Amount, names: Names, spent: Costs | None) -> Line:
    name, detail = names.of(kind, row)
    whole, part = total.gpu_hours, row.amount.gpu_hours
    if not whole:
        whole, part = total.cpu_hours, row.amount.cpu_hours
    paid = None
    if spent is not None and kind == "cluster" and row.cluster is not None:
        paid = spent.by_cluster.get(row.cluster, Decimal(0))
    return Line(name, detail, row.amount, part / whole if whole else 0.0, paid)
