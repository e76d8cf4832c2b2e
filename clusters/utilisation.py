"""What the plots of a cluster show: how busy it was by ten minutes for a day, and by day for a month."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, DateTimeField, Func, Max, QuerySet, Value
from django.db.models.functions import TruncDay

from clusters.models import Cluster, UtilisationSample
from portal.lib.types import JSONDict
from tenants.actor import Actor

STEP = dt.timedelta(minutes=10)
DAY = dt.timedelta(hours=24)
DAYS = 30


@dataclass(frozen=True, slots=True)
class Point:
    """Averages of one span; None where nothing was seen in it."""

    at: dt.datetime
    gpus_used: float | None = None
    gpus: float | None = None
    nodes: float | None = None
    running: float | None = None


@dataclass(frozen=True, slots=True)
class Plots:
    """Points of equal distance, the oldest first, without holes."""

    day: list[Point]
    month: list[Point]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen at all."""
        return all(point.gpus_used is None for point in self.day + self.month)

    @property
    def hours(self) -> list[Point]:
        """The day by hours in which something was seen, the newest first: for the table."""
        hour = int(dt.timedelta(hours=1) / STEP)
        parts = [self.day[at : at + hour] for at in range(len(self.day) - hour, -1, -hour)]
        return [point for part in parts if (point := _mean(part)) is not None]

    @property
    def days(self) -> list[Point]:
        """Days on which something was seen, the newest first: for the table."""
        return [point for point in reversed(self.month) if point.gpus_used is not None]

    def data(self) -> JSONDict:
        """What the script draws: columns of numbers, times in seconds."""
        return {"day": _columns(self.day), "month": _columns(self.month)}


def plots(actor: Actor, cluster: Cluster, *, now: dt.datetime) -> Plots:
    """Of a cluster of the actor's tenant; two queries, whatever was sampled."""
    rows = UtilisationSample.objects.for_actor(actor).filter(cluster=cluster)
    return Plots(day=_day(rows, now), month=_month(rows, now))


def _day(rows: QuerySet[UtilisationSample], now: dt.datetime) -> list[Point]:
    end = _floor(now)
    begin = end - DAY
    bin_ = Func(
        Value(STEP), "at", Value(begin), function="date_bin", output_field=DateTimeField()
    )  # PostgreSQL 14
    found = _averages(rows.filter(at__gte=begin, at__lt=end + STEP).annotate(bin=bin_))
    return _without_holes(found, begin, STEP, int(DAY / STEP) + 1)


def _month(rows: QuerySet[UtilisationSample], now: dt.datetime) -> list[Point]:
    today = now.astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begin = today - dt.timedelta(days=DAYS - 1)
    found = _averages(rows.filter(at__gte=begin).annotate(bin=TruncDay("at", tzinfo=dt.UTC)))
    return _without_holes(found, begin, dt.timedelta(days=1), DAYS)


def _averages(rows: QuerySet[Any]) -> dict[dt.datetime, Point]:
    found = (
        rows.values("bin")
        .annotate(used=Avg("gpus_used"), all=Max("gpus"), nodes_up=Avg("nodes"), at_work=Avg("running"))
        .order_by()
    )
    return {
        row["bin"]: Point(
            at=row["bin"],
            gpus_used=round(float(row["used"]), 2),
            gpus=float(row["all"]),
            nodes=round(float(row["nodes_up"]), 2),
            running=round(float(row["at_work"]), 2),
        )
        for row in found
    }


def _mean(points: list[Point]) -> Point | None:
    """One for several, at the first one's time; None where nothing was seen in any."""
    seen = [point for point in points if point.gpus_used is not None]
    if not seen:
        return None
    return Point(
        points[0].at,
        gpus_used=sum(point.gpus_used or 0 for point in seen) / len(seen),
        gpus=max(point.gpus or 0 for point in seen),
        nodes=sum(point.nodes or 0 for point in seen) / len(seen),
        running=sum(point.running or 0 for point in seen) / len(seen),
    )


def _floor(now: dt.datetime) -> dt.datetime:
    return now.replace(minute=now.minute - now.minute % 10, second=0, microsecond=0)


def _without_holes(
    found: dict[dt.datetime, Point], begin: dt.datetime, step: dt.timedelta, count: int
) -> list[Point]:
    return [found.get(at) or Point(at) for at in (begin + step * number for number in range(count))]


def _columns(points: list[Point]) -> JSONDict:
    return {
        "at": [int(point.at.timestamp()) for point in points],
        "used": [point.gpus_used for point in points],
        "gpus": [point.gpus for point in points],
        "nodes": [point.nodes for point in points],
    }
