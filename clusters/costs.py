"""What a tenant's nodes have cost so far, from the prices that were agreed."""

from __future__ import annotations

import calendar
import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from uuid import UUID

from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Q, Sum, Value
from django.db.models.functions import Coalesce, Greatest, Least

from clusters.models import Allocation
from tenants.actor import Actor

CENT = Decimal("0.01")
_MICROSECOND = dt.timedelta(microseconds=1)
_HOUR = Decimal(3_600_000_000)  # microseconds


@dataclass(frozen=True, slots=True)
class Costs:
    """Money of one span of time, in cents, in the currency of the offerings."""

    since: dt.datetime
    until: dt.datetime
    by_cluster: dict[UUID, Decimal] = field(default_factory=dict)

    @property
    def total(self) -> Decimal:
        """Of all clusters: the sum of what each shows."""
        return sum(self.by_cluster.values(), Decimal("0.00"))


def month_of(now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Begin and end of the month, in UTC."""
    first = now.astimezone(dt.UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first, first + dt.timedelta(days=calendar.monthrange(first.year, first.month)[1])


def costs(actor: Actor, *, since: dt.datetime, until: dt.datetime) -> Costs:
    """Cost of the actor's tenant between two moments. One query.

    Each node costs its pool's agreed price from when the cluster was first ready (a node that came later:
    from when it was taken) until it was given back or the cluster was removed. What was never ready costs
    nothing. Time counts to the microsecond; each cluster's sum is rounded half up to the cent.
    """
    end = Value(until, output_field=DateTimeField())
    begins = Greatest(
        F("allocated_at"), F("pool__cluster__ready_at"), Value(since, output_field=DateTimeField())
    )
    ends = Least(Coalesce("released_at", end), Coalesce("pool__cluster__deleted_at", end), end)
    rows = (
        Allocation.objects.for_actor(actor)
        .filter(Q(released_at=None) | Q(released_at__gt=since), pool__cluster__ready_at__lt=until)
        .annotate(span=ExpressionWrapper(ends - begins, output_field=DurationField()))
        .filter(span__gt=dt.timedelta())
        .values("pool__cluster_id", "pool__price_per_hour")
        .annotate(held=Sum("span"))
        .order_by()
    )
    exact: dict[UUID, Decimal] = defaultdict(Decimal)
    for row in rows:
        hours = Decimal(row["held"] // _MICROSECOND) / _HOUR
        exact[row["pool__cluster_id"]] += hours * row["pool__price_per_hour"]
    return Costs(since, until, {key: sum_.quantize(CENT, ROUND_HALF_UP) for key, sum_ in exact.items()})


def forecast(so_far: Costs, per_hour: Decimal) -> Decimal:
    """What the month will have cost if nothing changes from the end of `so_far` on."""
    _, end = month_of(so_far.since)
    left = Decimal((end - so_far.until) // _MICROSECOND) / _HOUR
    return (so_far.total + max(left, Decimal(0)) * per_hour).quantize(CENT, ROUND_HALF_UP)
