"""What a resize would cost, whether it fits, and which machines would leave, before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from clusters.models import Cluster
from clusters.services import shrinking
from clusters.services.demand import Demand, Demands, demands
from clusters.services.order_checks import HOURS_PER_MONTH
from clusters.services.resize_checks import Line, currency_of, growth
from clusters.services.shrinking import Candidate


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
class ResizeQuote(Demands):
    """The sum of a resize."""

    lines: tuple[Line, ...]
    growth: tuple[Demand, ...]  # nodes more, by flavor
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
    def demands(self) -> tuple[Demand, ...]:
        """What grows."""
        return self.growth


def quote(cluster: Cluster, lines: list[Line]) -> ResizeQuote:
    """The sum of these pools before and after."""
    wanted = {(cluster.site_id, flavor): count for flavor, count in growth(lines).items()}
    more = demands(cluster.tenant, [cluster.site], wanted)
    return ResizeQuote(tuple(lines), tuple(more.values()), _leaving(cluster, lines), currency_of(cluster))


def _leaving(cluster: Cluster, lines: list[Line]) -> tuple[Departure, ...]:
    if not any(line.added < 0 for line in lines):
        return ()
    held = shrinking.candidates(cluster)
    return tuple(
        Departure(line.pool, not line.after, tuple(held.get(line.pool, [])[: -line.added]))
        for line in lines
        if line.added < 0
    )
