"""What a resize may ask for: bounds, names, what is offered, quota and what the site has at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters.models import Cluster, Flavor, NodePool, Offering, Order, OrderKind
from clusters.picking import they_pick
from clusters.services import capacity
from clusters.services.order_checks import (
    JUSTIFICATION_LENGTH,
    MOST_NODES,
    MOST_POOLS,
    PoolRequest,
    check_pool,
    in_all,
    too_long,
    waiting_nodes,
)
from portal.lib.errors import BadInput

SAME = gettext_noop("Nothing would change: every pool keeps its number of nodes.")
LAST_NODE = gettext_noop("A cluster keeps at least one node. To end it, terminate it.")


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A resize as asked for: nodes of the pools that exist, and new pools with names as typed."""

    counts: Mapping[str, int]  # a pool that is absent keeps its nodes; 0: it is to go
    new: tuple[PoolRequest, ...] = ()
    justification: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One pool before and after."""

    pool: str
    flavor: Flavor
    before: int
    after: int
    price_per_hour: Decimal  # of one node

    @property
    def added(self) -> int:
        """Nodes more; below zero: fewer."""
        return self.after - self.before


def currency_of(cluster: Cluster) -> str:
    """In which the cluster was ordered."""
    found = Order.objects.filter(cluster=cluster, kind=OrderKind.CREATE).values_list("currency", flat=True)
    return str(found.first() or "EUR")


def pools_of(cluster: Cluster) -> list[NodePool]:
    """The pools that the cluster has, by name."""
    return list(
        NodePool.objects.filter(cluster=cluster, count__gt=0).select_related("flavor").order_by("name")
    )


def check(cluster: Cluster, request: ResizeRequest) -> list[Line]:
    """Every pool before and after.

    Raises BadInput with every wrong field at once: justification, pools, counts.<pool>, and new.<i>.name,
    new.<i>.offering, new.<i>.count; a field "" is about the whole.
    """
    wrong: dict[str, str] = {}
    if len(request.justification) > JUSTIFICATION_LENGTH or "\0" in request.justification:
        wrong["justification"] = too_long(JUSTIFICATION_LENGTH)
    lines = [*_present(cluster, request, wrong), *_new(cluster, request, wrong)]
    if not wrong:
        _check_whole(lines, wrong)
    if not wrong:
        _check_place(cluster, request, lines, wrong)
    if wrong:
        raise BadInput(wrong.get("", ""), fields=wrong)
    return lines


def _present(cluster: Cluster, request: ResizeRequest, wrong: dict[str, str]) -> list[Line]:
    pools = pools_of(cluster)
    for name in request.counts.keys() - {pool.name for pool in pools}:
        wrong[f"counts.{name}"] = _("This pool is not there any more. Load the page again.")
    offered = {offering.flavor_id for offering in capacity.offerings(cluster.site)}
    lines = []
    for pool in pools:
        after = request.counts.get(pool.name, pool.count)
        if not 0 <= after <= MOST_NODES:
            wrong[f"counts.{pool.name}"] = _("0 to %(most)d nodes.") % {"most": MOST_NODES}
        elif after < pool.count and they_pick(cluster.site):
            # which nodes go would be the outside's choice, and jobs may run on them
            wrong[f"counts.{pool.name}"] = _("At %(site)s nodes can only be added.") % {"site": cluster.site}
        elif after > pool.count and pool.flavor_id not in offered:
            wrong[f"counts.{pool.name}"] = _("%(flavor)s is not offered any more: no more than now.") % {
                "flavor": pool.flavor.name
            }
        lines.append(Line(pool.name, pool.flavor, pool.count, after, pool.price_per_hour))
    return lines


def _new(cluster: Cluster, request: ResizeRequest, wrong: dict[str, str]) -> list[Line]:
    taken = {pool.name for pool in pools_of(cluster)}
    currency = currency_of(cluster)
    lines = []
    for index, pool in enumerate(request.new):
        name = check_pool(cluster.site, f"new.{index}", pool, wrong)
        if name in taken:
            wrong[f"new.{index}.name"] = _("There is a pool called %(name)s already.") % {"name": name}
        if pool.offering.currency != currency:
            wrong[f"new.{index}.offering"] = _("The cluster is charged in %(currency)s.") % {
                "currency": currency
            }
        taken.add(name)
        offering = pool.offering
        lines.append(Line(name, offering.flavor, 0, pool.count, offering.price_per_hour))
    return lines


def _check_whole(lines: list[Line], wrong: dict[str, str]) -> None:
    if not any(line.added for line in lines):
        wrong[""] = _(SAME)
    elif not any(line.after for line in lines):
        wrong[""] = _(LAST_NODE)
    elif sum(1 for line in lines if line.after) > MOST_POOLS:
        wrong[""] = _("A cluster has at most %(most)d pools.") % {"most": MOST_POOLS}


def growth(lines: list[Line]) -> dict[Flavor, int]:
    """Nodes more of each flavor, all pools together; flavors that stay or shrink are absent."""
    more: Counter[Flavor] = Counter()
    for line in lines:
        more[line.flavor] += line.added
    return {flavor: count for flavor, count in more.items() if count > 0}


def field_of(line: Line, request: ResizeRequest, lines: list[Line]) -> str:
    """The field in which the line's number of nodes was entered."""
    if line.before:
        return f"counts.{line.pool}"
    return f"new.{lines.index(line) - (len(lines) - len(request.new))}.count"


def _check_place(cluster: Cluster, request: ResizeRequest, lines: list[Line], wrong: dict[str, str]) -> None:
    more = growth(lines)
    refused = capacity.over_quota(cluster.tenant, more, besides=waiting_nodes(cluster.tenant))
    there = capacity.capacity([cluster.site])
    for line in lines:
        field, found = field_of(line, request, lines), there.get((cluster.site_id, line.flavor.pk))
        total = found.total if found else 0
        if line.added <= 0:
            continue
        if line.flavor.pk in refused:
            wrong[field] = refused[line.flavor.pk]
        elif line.after > total:
            wrong[field] = in_all(cluster.site, total, line.flavor)


def offerings_of(cluster: Cluster) -> list[Offering]:
    """What new pools may be made of."""
    return capacity.offerings(cluster.site)
