"""How many machines a site has of each flavor, and which of them are free.

Where we pick, the inventory says it. Where the outside picks, it is what was seen of its stock last, less
what was promised since.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Count, DateTimeField, F, Q, Sum, Value
from django.utils.translation import gettext as _

from clusters.models import (
    Allocation,
    Flavor,
    Machine,
    MachineState,
    NodePool,
    Offering,
    Quota,
    Site,
    SiteStock,
)
from clusters.names import nodes
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class Capacity:
    """Machines of one flavor at one site, by state."""

    site_id: UUID
    flavor_id: UUID
    total: int = 0
    free: int = 0
    in_use: int = 0
    wiping: int = 0
    broken: int = 0
    seen_at: dt.datetime | None = None  # of the outside's stock, where the outside picks machines


COLUMNS = ("site_id", "flavor_id", "total", "free", "in_use", "wiping", "broken", "seen_at")


def capacity(sites: Iterable[Site] | None = None) -> dict[tuple[UUID, UUID], Capacity]:
    """By site and flavor; flavors without machines are absent. One query; three where an outside picks."""
    machines = Machine.objects.exclude(site__in=SiteStock.objects.values("site"))
    stock = SiteStock.objects.all()
    if sites is not None:
        keys = [site.pk for site in sites]
        machines, stock = machines.filter(site__in=keys), stock.filter(site__in=keys)
    counted = machines.values("site_id", "flavor_id").annotate(
        total=Count("pk"),
        **{state.value: Count("pk", filter=Q(state=state)) for state in MachineState},
        seen_at=Value(None, output_field=DateTimeField()),
    )
    nothing = dict.fromkeys(("free", "wiping", "broken"), Value(0))
    seen = stock.annotate(**nothing, in_use=F("claimed"))
    rows = counted.values_list(*COLUMNS).union(seen.values_list(*COLUMNS), all=True)
    found = {(row[0], row[1]): Capacity(*row) for row in rows}
    return found if all(one.seen_at is None for one in found.values()) else found | _left(found)


def _left(found: Mapping[tuple[UUID, UUID], Capacity]) -> dict[tuple[UUID, UUID], Capacity]:
    """Of the outsides' stock, what neither is claimed nor was promised by us since it was seen."""
    picked = {key: one for key, one in found.items() if one.seen_at is not None}
    promised = _promised({site for site, _ in picked})
    return {
        key: replace(one, free=max(one.total - one.in_use - promised(key, one.seen_at), 0))
        for key, one in picked.items()
    }


def _promised(sites: Collection[UUID]) -> Callable[[tuple[UUID, UUID], dt.datetime | None], int]:
    """How many nodes live clusters are to have that a look at the outside cannot have seen as claimed."""
    pools = NodePool.objects.filter(cluster__site__in=sites, cluster__wanted=True, cluster__deleted_at=None)
    wanted = Counter[tuple[UUID, UUID]]()
    for site, flavor, count in pools.values_list("cluster__site_id", "flavor_id", "count"):
        wanted[site, flavor] += count
    held = list(
        Allocation.objects.filter(pool__in=pools, released_at=None).values_list(
            "pool__cluster__site_id", "pool__flavor_id", "allocated_at"
        )
    )

    def since(key: tuple[UUID, UUID], seen_at: dt.datetime | None) -> int:
        known = sum(1 for *of, at in held if tuple(of) == key and seen_at is not None and at <= seen_at)
        return max(wanted[key] - known, 0)

    return since


def lock_site(site: Site) -> None:
    """One promise at a time at a site whose outside picks machines. Needs an open transaction."""
    Site.objects.select_for_update(no_key=True).get(pk=site.pk)


def free_machines(site: Site, flavor: Flavor) -> list[Machine]:
    """Free machines in the order of their ids; free means wiped and in no pool."""
    return list(
        Machine.objects.filter(site=site, flavor=flavor, state=MachineState.FREE)
        .exclude(allocations__in=Allocation.objects.filter(released_at=None))
        .order_by("pk")
    )


def lock_free(keys: Iterable[UUID]) -> list[Machine]:
    """Those of the machines that are free and not being taken by someone else, locked, ids sorted.

    Needs an open transaction. Whoever gets fewer than asked for must not go on.
    """
    return list(
        Machine.objects.filter(pk__in=sorted(keys), state=MachineState.FREE)
        .exclude(allocations__in=Allocation.objects.filter(released_at=None))
        .order_by("pk")
        .select_for_update(skip_locked=True, of=("self",))
    )


def held_nodes(tenant: Tenant) -> dict[UUID, int]:
    """Nodes that a tenant holds now, by flavor: its live allocations, or where outsides pick, its pools."""
    picked = SiteStock.objects.values("site")
    live = Allocation.objects.filter(pool__cluster__tenant=tenant, released_at=None)
    ours = live.exclude(pool__cluster__site__in=picked).values(flavor=F("machine__flavor_id"))
    pools = NodePool.objects.filter(
        cluster__tenant=tenant, cluster__deleted_at=None, cluster__site__in=picked, count__gt=0
    )
    theirs = pools.annotate(of=F("flavor_id")).values("of").annotate(nodes=Sum("count"))
    rows = ours.annotate(nodes=Count("pk")).order_by().union(theirs.order_by(), all=True)
    found = Counter[UUID]()
    for row in rows:
        found[row["flavor"]] += row["nodes"]
    return dict(found)


def quotas(tenant: Tenant) -> dict[UUID, int]:
    """The most nodes that a tenant may hold, by flavor; absent: no limit of its own."""
    return dict(Quota.objects.filter(tenant=tenant).values_list("flavor_id", "nodes"))


def over_quota(
    tenant: Tenant, wanted: Mapping[Flavor, int], *, besides: Mapping[UUID, int]
) -> dict[UUID, str]:
    """Flavors of which `wanted` more would be too many, each with its sentence. `besides`: waiting orders."""
    held, limits = held_nodes(tenant), quotas(tenant)
    refused: dict[UUID, str] = {}
    for flavor, count in wanted.items():
        limit = limits.get(flavor.pk)
        used = held.get(flavor.pk, 0) + besides.get(flavor.pk, 0)
        if limit is not None and used + count > limit:
            left = max(limit - used, 0)
            refused[flavor.pk] = _("Your quota allows %(nodes)s of %(flavor)s; left: %(left)d.") % {
                "nodes": nodes(limit),
                "flavor": flavor.name,
                "left": left,
            }
    return refused


def offerings(site: Site | None = None) -> list[Offering]:
    """What may be ordered now, by site and flavor."""
    rows = Offering.objects.filter(active=True, site__active=True).select_related("site", "flavor")
    if site is not None:
        rows = rows.filter(site=site)
    return list(rows.order_by("site__name", "flavor__name"))
