"""Nodes of a flavor that somebody asks for: whether they are free, and within the tenant's quota."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from clusters.models import Flavor, Site
from clusters.services import capacity
from clusters.services.order_checks import waiting_nodes
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Demand:
    """Nodes of one flavor, besides those that the tenant has."""

    flavor: Flavor
    count: int
    free: int
    total: int
    quota_left: int | None  # before this order; None: no limit of its own
    seen_at: dt.datetime | None  # where the outside picks machines: when it was asked what is free

    @property
    def is_free(self) -> bool:
        """Enough machines are free now."""
        return self.count <= self.free

    @property
    def is_allowed(self) -> bool:
        """Within the quota."""
        return self.quota_left is None or self.count <= self.quota_left


class Demands:
    """What is asked for, all flavors together."""

    __slots__ = ()

    @property
    def demands(self) -> Sequence[Demand]:
        """One for each flavor."""
        raise NotImplementedError

    @property
    def short(self) -> list[Demand]:
        """Flavors of which too few are free now."""
        return [demand for demand in self.demands if not demand.is_free]

    @property
    def too_many(self) -> list[Demand]:
        """Flavors that the quota does not allow."""
        return [demand for demand in self.demands if not demand.is_allowed]


def demands(
    tenant: Tenant, sites: Collection[Site], wanted: Mapping[tuple[UUID, Flavor], int]
) -> dict[tuple[UUID, UUID], Demand]:
    """By the ids of site and flavor, of what is wanted: nodes by site id and flavor."""
    owned = capacity.capacity(sites)
    held, limits, waiting = capacity.held_nodes(tenant), capacity.quotas(tenant), waiting_nodes(tenant)
    found = {}
    for (site_id, flavor), count in wanted.items():
        there, limit = owned.get((site_id, flavor.pk)), limits.get(flavor.pk)
        used = held.get(flavor.pk, 0) + waiting.get(flavor.pk, 0)
        found[site_id, flavor.pk] = Demand(
            flavor=flavor,
            count=count,
            free=there.free if there else 0,
            total=there.total if there else 0,
            quota_left=None if limit is None else max(limit - used, 0),
            seen_at=there.seen_at if there else None,
        )
    return found
