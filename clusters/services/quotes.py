"""What an order would cost and whether it fits, before it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from clusters.models import Flavor, Offering
from clusters.services import capacity
from clusters.services.order_checks import HOURS_PER_MONTH, waiting_nodes
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """Nodes of one flavor."""

    flavor: Flavor
    count: int
    price_per_hour: Decimal  # of all of them
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
class Quote:
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
    def short(self) -> tuple[QuoteLine, ...]:
        """Flavors of which too few are free now."""
        return tuple(line for line in self.lines if not line.is_free)

    @property
    def too_many(self) -> tuple[QuoteLine, ...]:
        """Flavors that the quota does not allow."""
        return tuple(line for line in self.lines if not line.is_allowed)


def quote(tenant: Tenant, pools: Sequence[tuple[Offering, int]]) -> Quote | None:
    """The sum of these pools; None for none. Pools of one flavor at one site are added up."""
    if not pools:
        return None
    counts: dict[UUID, int] = {}
    offered = {offering.pk: offering for offering, _ in pools}
    for offering, count in pools:
        counts[offering.pk] = counts.get(offering.pk, 0) + count
    owned = capacity.capacity({offering.site for offering in offered.values()})
    held, limits, waiting = capacity.held_nodes(tenant), capacity.quotas(tenant), waiting_nodes(tenant)
    lines = []
    for key, offering in offered.items():
        flavor = offering.flavor
        there = owned.get((offering.site_id, flavor.pk))
        limit = limits.get(flavor.pk)
        used = held.get(flavor.pk, 0) + waiting.get(flavor.pk, 0)
        lines.append(
            QuoteLine(
                flavor=flavor,
                count=counts[key],
                price_per_hour=offering.price_per_hour * counts[key],
                free=there.free if there else 0,
                total=there.total if there else 0,
                quota_left=None if limit is None else max(limit - used, 0),
            )
        )
    return Quote(tuple(lines), next(iter(offered.values())).currency)
