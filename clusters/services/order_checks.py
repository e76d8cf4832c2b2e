"""What an order may ask for: bounds, names, what is offered, quota and what the site has at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db.models import F, Sum
from django.utils.translation import gettext as _

from clusters.models import Cluster, Flavor, Offering, Order, OrderKind, OrderLine, OrderState, Site, Stack
from clusters.names import NameRefused, cluster_name, nodes, pool_name
from clusters.services import capacity, parameters
from clusters.stacks import of_site, offered_words
from portal.lib.errors import BadInput
from tenants.models import Tenant

MOST_NODES = 64
MOST_POOLS = 8
JUSTIFICATION_LENGTH = 2000
HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """One pool as asked for; the name is as typed."""

    name: str
    offering: Offering
    count: int


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """An order as asked for; names are as typed."""

    site: Site
    name: str
    pools: tuple[PoolRequest, ...]
    stack: str = Stack.SLURM
    justification: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)  # as typed, by the template's names

    def price_per_hour(self) -> Decimal:
        """Of all nodes together."""
        return sum((pool.offering.price_per_hour * pool.count for pool in self.pools), Decimal(0))

    def nodes(self) -> dict[Flavor, int]:
        """How many of each flavor."""
        wanted: Counter[Flavor] = Counter()
        for pool in self.pools:
            wanted[pool.offering.flavor] += pool.count
        return dict(wanted)


@dataclass(frozen=True, slots=True)
class SafeNames:
    """What of the request is kept: the names under which things will run, and checked parameters."""

    cluster: str
    pools: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)  # checked by the site's template


def check(request: OrderRequest) -> SafeNames:
    """Check what needs no look at other orders.

    Raises BadInput with every wrong field at once: name, site, stack, parameters.<name>, justification,
    pools, and pools.<i>.name, pools.<i>.offering, pools.<i>.count.
    """
    wrong: dict[str, str] = {}
    safe = ""
    try:
        safe = cluster_name(request.name)
    except NameRefused as refused:
        wrong["name"] = str(refused)
    if not request.site.active:
        wrong["site"] = _("Nothing can be ordered here at present.")
    elif request.stack not in of_site(request.site):
        wrong["stack"] = not_offered(request.site)
    elif closed := parameters.refusal(request.site):
        wrong["site"] = closed
    kept, unfit = parameters.check(request.site, request.parameters)
    wrong |= {f"parameters.{name}": why for name, why in unfit.items()}
    if len(request.justification) > JUSTIFICATION_LENGTH or "\0" in request.justification:
        wrong["justification"] = too_long(JUSTIFICATION_LENGTH)
    names = _check_pools(request, wrong)
    if wrong:
        raise BadInput(fields=wrong)
    return SafeNames(safe, names, kept)


def _check_pools(request: OrderRequest, wrong: dict[str, str]) -> tuple[str, ...]:
    if not 1 <= len(request.pools) <= MOST_POOLS:
        wrong["pools"] = _("An order has 1 to %(most)d pools.") % {"most": MOST_POOLS}
    elif len({pool.offering.currency for pool in request.pools}) > 1:
        wrong["pools"] = _("These offerings are in different currencies; order them one by one.")
    names = [
        check_pool(request.site, f"pools.{index}", pool, wrong) for index, pool in enumerate(request.pools)
    ]
    for index, name in enumerate(names):
        if name and name in names[:index]:
            wrong[f"pools.{index}.name"] = _("Two pools would both be called %(name)s.") % {"name": name}
    return tuple(names)


def check_pool(site: Site, field: str, pool: PoolRequest, wrong: dict[str, str]) -> str:
    """The safe name of a new pool, or "" with what is wrong beside `field`.name, .offering or .count."""
    if not 1 <= pool.count <= MOST_NODES:
        wrong[f"{field}.count"] = _("1 to %(most)d nodes.") % {"most": MOST_NODES}
    if not pool.offering.active or pool.offering.site_id != site.pk:
        wrong[f"{field}.offering"] = _("This is not offered at this site.")
    try:
        return pool_name(pool.name)
    except NameRefused as refused:
        wrong[f"{field}.name"] = str(refused)
        return ""


def check_place(tenant: Tenant, request: OrderRequest, names: SafeNames) -> None:
    """Check against what the tenant has and the site could ever give. Raises BadInput."""
    wrong: dict[str, str] = {}
    if name_in_use(tenant, names.cluster):
        wrong["name"] = _("You already have a cluster or an open order called %(name)s.") % {
            "name": names.cluster
        }
    refused = capacity.over_quota(tenant, request.nodes(), besides=waiting_nodes(tenant))
    owned = capacity.capacity([request.site])
    for index, pool in enumerate(request.pools):
        flavor = pool.offering.flavor
        there = owned.get((request.site.pk, flavor.pk))
        if flavor.pk in refused:
            wrong[f"pools.{index}.count"] = refused[flavor.pk]
        elif request.nodes()[flavor] > (there.total if there else 0):
            total = there.total if there else 0
            wrong[f"pools.{index}.count"] = in_all(request.site, total, flavor)
    if wrong:
        raise BadInput(fields=wrong)


def in_all(site: Site, total: int, flavor: Flavor) -> str:
    """How many a site has at all: a refusal's sentence."""
    told = {"site": site.name, "nodes": nodes(total), "flavor": flavor.name}
    return _("%(site)s has %(nodes)s of %(flavor)s in all.") % told


def not_offered(site: Site) -> str:
    """Which stacks a site has: a refusal's sentence."""
    if offered := offered_words(site):
        return _("%(site)s offers: %(stacks)s.") % {"site": site.name, "stacks": offered}
    return _("%(site)s offers no stack at present.") % {"site": site.name}


def too_long(most: int) -> str:
    """What a text may be: a refusal's sentence."""
    return _("At most %(most)d characters, no NUL.") % {"most": most}


def name_in_use(tenant: Tenant, name: str) -> bool:
    """Whether a live cluster or an order that waits bears the name."""
    return (
        Cluster.objects.filter(tenant=tenant, name=name, deleted_at=None).exists()
        or Order.objects.filter(
            tenant=tenant, cluster_name=name, kind=OrderKind.CREATE, state=OrderState.SUBMITTED
        ).exists()
    )


def waiting_nodes(tenant: Tenant, *, but: Order | None = None) -> dict[UUID, int]:
    """Nodes in orders that wait for approval, by flavor."""
    lines = OrderLine.objects.filter(order__tenant=tenant, order__state=OrderState.SUBMITTED)
    if but is not None:
        lines = lines.exclude(order=but)
    more = lines.values("flavor_id").annotate(nodes=Sum(F("count") - F("count_before")))
    return {flavor: nodes for flavor, nodes in more.values_list("flavor_id", "nodes") if nodes > 0}
