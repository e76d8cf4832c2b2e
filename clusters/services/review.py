"""What an operator needs to decide about an order, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.fleet import plan_error
from clusters.models import (
    OPEN_STATES,
    Allocation,
    Cluster,
    Flavor,
    MachineState,
    Order,
    OrderKind,
    OrderLine,
    OrderState,
    Phase,
)
from clusters.services import capacity
from clusters.services.allocation import planned_machines
from clusters.services.changes import require_changeable
from clusters.services.clusters import under_way
from clusters.services.order_checks import waiting_nodes
from clusters.services.plans import still_holds
from portal.lib.errors import WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.models import Membership


@dataclass(frozen=True, slots=True)
class FlavorReview:
    """One flavor of an order: what the tenant holds, what the site has."""

    flavor: Flavor
    wanted: int
    held: int
    quota: int | None
    free: int
    total: int

    @property
    def after(self) -> int:
        """Held after an approval."""
        return self.held + self.wanted

    @property
    def free_after(self) -> int:
        """Free after an approval; below zero when it does not fit."""
        return self.free - self.wanted


@dataclass(frozen=True, slots=True)
class Review:
    """Everything beside the order itself."""

    lines: list[OrderLine]
    flavors: list[FlavorReview]
    machines: list[JSONDict]
    leaving: list[JSONDict]  # machines that leave; before the approval: that would
    steps: list[JSONDict]
    error: JSONDict | None
    clusters: list[Cluster]
    orders: list[Order]
    members: int
    blocks: list[str] = field(default_factory=list)  # why it cannot be approved now
    warnings: list[str] = field(default_factory=list)

    is_planning: bool = False  # the first plan will be there in a moment

    @property
    def may_approve(self) -> bool:
        """Nothing stands against it."""
        return not self.blocks


def review(*, actor: Actor, order: Order) -> Review:
    """Look at an order as it is now; changes nothing."""
    plan = order.plan or {}
    lines = list(order.lines.select_related("flavor").order_by("pk"))
    tenant = order.tenant
    found = Review(
        lines=lines,
        flavors=_flavors(order, lines),
        machines=[
            {**machine, "pool": pool["name"], "flavor": pool["flavor"]}
            for pool in plan.get("pools", [])
            for machine in pool["machines"]
        ],
        leaving=plan.get("leaving", []),
        steps=plan.get("steps", []),
        error=plan_error(order),
        clusters=list(Cluster.objects.filter(tenant=tenant).exclude(phase=Phase.DELETED).order_by("name")),
        orders=list(Order.objects.filter(tenant=tenant).exclude(pk=order.pk).order_by("-created_at")[:10]),
        members=Membership.objects.filter(tenant=tenant, ended_at=None).count(),
        is_planning=order.state == OrderState.SUBMITTED and order.planned_at is None,
    )
    if order.state == OrderState.SUBMITTED:
        _judge(actor, order, found)
    return found


def _flavors(order: Order, lines: list[OrderLine]) -> list[FlavorReview]:
    wanted: dict[Flavor, int] = {}
    for line in lines:
        wanted[line.flavor] = wanted.get(line.flavor, 0) + line.added
    held, limits = capacity.held_nodes(order.tenant), capacity.quotas(order.tenant)
    there = capacity.capacity([order.site])
    rows = []
    for flavor, count in wanted.items():
        site = there.get((order.site_id, flavor.pk))
        rows.append(
            FlavorReview(
                flavor=flavor,
                wanted=count,
                held=held.get(flavor.pk, 0),
                quota=limits.get(flavor.pk),
                free=site.free if site else 0,
                total=site.total if site else 0,
            )
        )
    return rows


def _judge(actor: Actor, order: Order, found: Review) -> None:
    found.blocks.extend(_blocks(actor, order, found))
    found.warnings.extend(_warnings(order, found))


def _blocks(actor: Actor, order: Order, found: Review) -> Iterator[str]:
    if Membership.objects.filter(tenant=order.tenant, user=actor.user, ended_at=None).exists():
        yield _("You are a member of %(tenant)s: another operator has to decide.") % {"tenant": order.tenant}
    if order.tenant.suspended_at is not None:
        yield _("%(tenant)s is suspended.") % {"tenant": order.tenant}
    for row in found.flavors:
        if row.quota is not None and row.wanted > 0 and row.after > row.quota:
            yield _("The quota of %(flavor)s is %(quota)d; the tenant would hold %(after)d.") % {
                "flavor": row.flavor.name,
                "quota": row.quota,
                "after": row.after,
            }
    if order.kind == OrderKind.RESIZE and order.cluster is not None:
        try:
            require_changeable(order.cluster, but=order)
        except WrongState as error:
            yield error.message
    yield from _blocks_of_plan(order, found)


def _blocks_of_plan(order: Order, found: Review) -> Iterator[str]:
    if found.error:
        yield str(found.error["message"])
    elif not order.plan_hash:
        yield _("The plan is being made; this page shows it in a moment.")
    elif not still_holds(order, order.plan_hash) or not _all_free(order):
        yield _("The plan is out of date; a new one is being made. Load the page again.")


def _warnings(order: Order, found: Review) -> Iterator[str]:
    waiting = waiting_nodes(order.tenant, but=order)
    if waiting:
        count = sum(waiting.values())
        yield ngettext(
            "The tenant has %(count)d more node in orders that wait.",
            "The tenant has %(count)d more nodes in orders that wait.",
            count,
        ) % {"count": count}
    for row in found.flavors:
        if row.free_after == 0 and row.total and row.wanted > 0:
            yield _("This takes the last free nodes of %(flavor)s at %(site)s.") % {
                "flavor": row.flavor.name,
                "site": order.site,
            }
    if not order.justification:
        yield _("The tenant gave no reason.")


def _all_free(order: Order) -> bool:
    keys = [key for pool in planned_machines(order).values() for key in pool]
    taken = Allocation.objects.filter(machine__in=keys, released_at=None).exists()
    return not taken and order.site.machines.filter(pk__in=keys, state=MachineState.FREE).count() == len(keys)


def open_orders_of(cluster: Cluster) -> list[Order]:
    """Orders about a cluster that are not done."""
    return list(Order.objects.filter(cluster=cluster, state__in=OPEN_STATES).order_by("created_at"))


def may_give_up(cluster: Cluster) -> bool:
    """A build or a change that is under way."""
    return cluster.phase not in {Phase.FAILED, Phase.DELETED} and under_way(cluster) is not None
