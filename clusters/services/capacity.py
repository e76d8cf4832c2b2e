"""How many machines a site has of each flavor, and which of them are free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from clusters.models import Allocation, Flavor, Machine, MachineState, Offering, Quota, Site
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


def capacity(sites: Iterable[Site] | None = None) -> dict[tuple[UUID, UUID], Capacity]:
    """By site and flavor; flavors without machines are absent. One query."""
    machines = Machine.objects.all()
    if sites is not None:
        machines = machines.filter(site__in=list(sites))
    rows = machines.values("site_id", "flavor_id").annotate(
        total=Count("pk"),
        **{state.value: Count("pk", filter=Q(state=state)) for state in MachineState},
    )
    return {(row["site_id"], row["flavor_id"]): Capacity(**row) for row in rows}


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
    """Nodes that a tenant holds now, by flavor: its live allocations."""
    rows = (
        Allocation.objects.filter(pool__cluster__tenant=tenant, released_at=None)
        .values("machine__flavor_id")
        .annotate(nodes=Count("pk"))
    )
    return {row["machine__flavor_id"]: row["nodes"] for row in rows}


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
