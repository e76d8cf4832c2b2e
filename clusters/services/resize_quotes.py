"""What a resize would cost, whether it fits, and which machines would leave, before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from clusters.models import Cluster, Flavor
from clusters.services import capacity, shrinking
from clusters.services.order_checks import HOURS_PER_MONTH, waiting_nodes
from clusters.services.resize_checks import Line, currency_of, growth
from clusters.services.shrinking import Candidate


@dataclass(frozen=True, slots=True)
class Growth:
    """Nodes more of one flavor."""

    flavor: Flavor
    count: int
    free: int
    total: int
    quota_left: int | None  # before this order; None: no limit of its own

    @property
    def is_free(self) -> bool:
        """Enough machines are free now."""
        return self.count <= self.free

    @property
    def is_allowed(self) -> bool:
        """Within the quota."""
        return self.quota_left is None or self.count <= self.quota_left


@dataclass(frozen=True, slots=True)
class Departure:
    """Machines that would leave a pool, as they were last seen."""

    pool: str
    goes: bool  # the pool goes altogether
    machines: tuple[Candidate, ...]

    @property
    def busy(self) -> tuple[Candidate, ...]:
        """Those on which jobs run."""
        return tuple(candidate for candidate in self.machines if candidate.is_busy)


@dataclass(frozen=True, slots=True)
class ResizeQuote:
    """The sum of a resize."""

    lines: tuple[Line, ...]
    growth: tuple[Growth, ...]
    leaving: tuple[Departure, ...]
    currency: str

    @property
    def changes(self) -> bool:
        """Anything would be different."""
        return any(line.added for line in self.lines)

    @property
    def needs_operator(self) -> bool:
        """A pool grows."""
        return any(line.added > 0 for line in self.lines)

    @property
    def nodes(self) -> int:
        """All nodes afterwards."""
        return sum(line.after for line in self.lines)

    @property
    def before(self) -> Decimal:
        """Price per hour now."""
        return sum((line.price_per_hour * line.before for line in self.lines), Decimal(0))

    @property
    def after(self) -> Decimal:
        """Price per hour afterwards."""
        return sum((line.price_per_hour * line.after for line in self.lines), Decimal(0))

    @property
    def difference(self) -> Decimal:
        """Per hour; below zero: cheaper."""
        return self.after - self.before

    @property
    def month_before(self) -> Decimal:
        """Of 730 hours."""
        return self.before * HOURS_PER_MONTH

    @property
    def month_after(self) -> Decimal:
        """Of 730 hours."""
        return self.after * HOURS_PER_MONTH

    @property
    def gpus_before(self) -> int:
        """All GPUs now."""
        return sum(line.before * line.flavor.gpu_count for line in self.lines)

    @property
    def gpus_after(self) -> int:
        """All GPUs afterwards."""
        return sum(line.after * line.flavor.gpu_count for line in self.lines)

    @property
    def short(self) -> tuple[Growth, ...]:
        """Flavors of which too few are free now."""
        return tuple(line for line in self.growth if not line.is_free)

    @property
    def too_many(self) -> tuple[Growth, ...]:
        """Flavors that the quota does not allow."""
        return tuple(line for line in self.growth if not line.is_allowed)


def quote(cluster: Cluster, lines: list[Line]) -> ResizeQuote:
    """The sum of these pools before and after."""
    there = capacity.capacity([cluster.site])
    tenant = cluster.tenant
    held, limits, waiting = capacity.held_nodes(tenant), capacity.quotas(tenant), waiting_nodes(tenant)
    more = []
    for flavor, count in growth(lines).items():
        found, limit = there.get((cluster.site_id, flavor.pk)), limits.get(flavor.pk)
        used = held.get(flavor.pk, 0) + waiting.get(flavor.pk, 0)
        left = None if limit is None else max(limit - used, 0)
        more.append(Growth(flavor, count, found.free if found else 0, found.total if found else 0, left))
    return ResizeQuote(tuple(lines), tuple(more), _leaving(cluster, lines), currency_of(cluster))


def _leaving(cluster: Cluster, lines: list[Line]) -> tuple[Departure, ...]:
    if not any(line.added < 0 for line in lines):
        return ()
    held = shrinking.candidates(cluster)
    return tuple(
        Departure(line.pool, not line.after, tuple(held.get(line.pool, [])[: -line.added]))
        for line in lines
        if line.added < 0
    )
