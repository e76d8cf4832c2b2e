"""What an order would cost and whether it fits, before it is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from clusters.models import Offering
from clusters.services.demand import Demand, Demands, demands
from clusters.services.order_checks import HOURS_PER_MONTH
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class QuoteLine(Demand):
    """Nodes of one flavor, with their price."""

    price_per_hour: Decimal  # of all of them


@dataclass(frozen=True, slots=True)
class Quote(Demands):
    """The sum of an order."""

    lines: tuple[QuoteLine, ...]
    currency: str

    @property
    def price_per_hour(self) -> Decimal:
        """Of all nodes."""
        return sum((line.price_per_hour for line in self.lines), Decimal(0))

    @property
    def price_per_month(self) -> Decimal:
        """Of 730 hours."""
        return self.price_per_hour * HOURS_PER_MONTH

    @property
    def nodes(self) -> int:
        """All nodes."""
        return sum(line.count for line in self.lines)

    @property
    def gpus(self) -> int:
        """All GPUs."""
        return sum(line.count * line.flavor.gpu_count for line in self.lines)

    @property
    def cpus(self) -> int:
        """All CPUs."""
        return sum(line.count * line.flavor.cpus for line in self.lines)

    @property
    def memory_gib(self) -> int:
        """Of all nodes, whole GiB."""
        return sum(line.count * line.flavor.memory_mib for line in self.lines) // 1024

    @property
    def demands(self) -> tuple[QuoteLine, ...]:
        """Each line is one."""
        return self.lines


def quote(tenant: Tenant, pools: Sequence[tuple[Offering, int]]) -> Quote | None:
    """The sum of these pools; None for none. Pools of one flavor at one site are added up."""
    if not pools:
        return None
    counts: Counter[Offering] = Counter()
    for offering, count in pools:
        counts[offering] += count
    wanted = {(offering.site_id, offering.flavor): count for offering, count in counts.items()}
    asked = demands(tenant, {offering.site for offering in counts}, wanted)
    lines = []
    for offering, count in counts.items():
        one = asked[offering.site_id, offering.flavor_id]
        price = offering.price_per_hour * count
        left = one.quota_left
        lines.append(QuoteLine(one.flavor, one.count, one.free, one.total, left, one.seen_at, price))
    return Quote(tuple(lines), next(iter(counts)).currency)
