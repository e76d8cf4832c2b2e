"""The live kinds of orders and clusters: what page, poll and socket all show."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from django.db.models import Max
from django.db.models.functions import Coalesce

from clusters import fact_words, lines, live, plans, selectors, told, volcano, words
from clusters.attention import attention, refused_orders
from clusters.costs import costs, forecast, month_of
from clusters.models import (
    OPEN_STATES,
    Allocation,
    AllocationStage,
    Cluster,
    Node,
    Order,
    OrderKind,
    OrderState,
    Phase,
    SlurmEndpoint,
    Stack,
    StepEvent,
    StepState,
    WorkloadSnapshot,
)
from clusters.services import parameters
from clusters.services.changes import open_change
from portal.lib import clock, keyset
from portal.lib.keyset import ROWS
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.registry import LiveKind, register
from tenants.models import Invitation, Membership, Tenant
from tenants.rights import Action, may

LONGEST_ID = 19  # digits of a bigint


def overview_context(actor: Actor, row: Tenant) -> JSONDict:
    """Clusters as cards, and for those who order: orders, people, cost, what needs attention."""
    clusters = list(selectors.live_clusters(actor))
    orders = list(selectors.open_orders(actor))
    may_order = may(actor, Action.ORDER)
    return {
        "tenant": row,
        "cards": [
            {
                "cluster": cluster,
                "waiting": words.waiting_of_steps(cluster.steps.all()),
                "done": sum(step.status == "ready" for step in cluster.steps.all()),
                "steps": len(cluster.steps.all()),
                "slurm": getattr(cluster, "slurm", None),
            }
            for cluster in clusters
        ],
        "orders": [
            {
                "order": order,
                "waiting": words.waiting_of(order, list(order.cluster.steps.all()) if order.cluster else []),
            }
            for order in orders
        ],
        "may_order": may_order,
        "may_submit": may(actor, Action.SUBMIT_JOB),
        "has_any": bool(clusters or orders),
        "attention": attention(clusters, refused_orders(actor) if may_order else []),
        **(_admin_figures(actor, clusters) if may_order else {}),
    }


def _admin_figures(actor: Actor, clusters: list[Any]) -> JSONDict:
    """Money and people, and what each cluster has cost this month."""
    now = clock.now()
    spent = costs(actor, since=month_of(now)[0], until=now)
    charged = [cluster for cluster in clusters if cluster.was_ready]
    per_hour = sum((cluster.price_per_hour for cluster in charged), Decimal(0))
    for cluster in clusters:
        cluster.cost = spent.by_cluster.get(cluster.pk, Decimal(0))
    return {
        "spent": spent,
        "forecast": forecast(spent, per_hour),
        "members": Membership.objects.for_actor(actor).filter(ended_at=None).count(),
        "invited": Invitation.objects.for_actor(actor)
        .filter(accepted_at=None, revoked_at=None, expires_at__gt=now)
        .count(),
        "gpus": sum(cluster.gpus for cluster in charged),
        "gpus_used": sum(cluster.gpus_used for cluster in charged),
    }


def overview_as_of(row: Tenant) -> dt.datetime | None:
    """The newest look at any of the tenant's clusters."""
    newest = SlurmEndpoint.objects.filter(cluster__tenant=row, cluster__deleted_at=None).aggregate(
        at=Max("observed_at")
    )
    found: dt.datetime | None = newest["at"]
    return found


def order_context(actor: Actor, row: Order) -> JSONDict:
    """One order: its line, whom it waits for, what was agreed, and the steps."""
    order = Order.objects.select_related("site", "cluster", "created_by", "decided_by").get(pk=row.pk)
    steps = list(StepState.objects.filter(cluster=order.cluster_id)) if order.cluster_id else []
    agreed = list(order.lines.select_related("flavor").order_by("pk"))
    may_order = may(actor, Action.ORDER)
    scheduled = order.cluster is not None and order.cluster.wanted
    cancellable = order.state in OPEN_STATES and (scheduled or order.kind != OrderKind.TERMINATE)
    back = selectors.taken_back(order)
    changing = order.kind == OrderKind.RESIZE and order.cluster is not None
    generation = order.cluster.generation if changing and order.cluster else 0
    is_live = order.state == OrderState.APPROVED or back == "working"
    return {
        "order": order,
        "tenant": actor.tenant,
        "line": lines.line_of(order, steps, back),
        "waiting": words.waiting_of_steps(steps) if back == "working" else words.waiting_of(order, steps),
        "timeline": words.timeline_of(steps, change=generation) if is_live or not changing else [],
        "lines": agreed,
        "price_before": sum((line.count_before * line.price_per_hour for line in agreed), Decimal(0)),
        "parameters": parameters.labelled(order.site, order.parameters),
        "plan": _plan(order),
        "leaving": _leaving(order) if is_live else [],
        "back": back,
        "cancelling": lines.cancelling(order),
        "may_remove": may(actor, Action.TERMINATE) and back == "kept",
        "may_cancel": may_order and cancellable,
        "may_order_again": may_order
        and order.kind == OrderKind.CREATE
        and order.state in {OrderState.REJECTED, OrderState.CANCELLED, OrderState.FAILED},
    }


def _leaving(order: Order) -> list[Allocation]:
    """Machines of the cluster that are on their way out."""
    if order.kind != OrderKind.RESIZE:
        return []
    rows = Allocation.objects.filter(pool__cluster=order.cluster_id, released_at=None)
    rows = rows.exclude(stage=AllocationStage.HELD).select_related("machine", "pool")
    return list(rows.order_by("machine__name"))


def _plan(order: Order) -> list[JSONDict]:
    steps = (order.plan or {}).get("steps", [])
    return [{"title": words.title_of(step["name"]), **plans.for_tenant(order, step)} for step in steps]


def cluster_context(actor: Actor, row: Cluster) -> JSONDict:
    """The overview of one cluster."""
    cluster = selectors.with_figures(Cluster.objects.for_actor(actor)).select_related("site").get(pk=row.pk)
    steps = list(StepState.objects.filter(cluster=cluster))
    change = open_change(cluster)
    return {
        "cluster": cluster,
        "tenant": actor.tenant,
        "slurm": SlurmEndpoint.objects.filter(cluster=cluster).first(),
        "pools": cluster.pools.filter(count__gt=0).select_related("flavor").order_by("name"),
        "waiting": words.waiting_of_steps(steps),
        "timeline": words.timeline_of(steps, change=cluster.generation if change else 0),
        "change": change,
        "may_order": may(actor, Action.ORDER),
        "is_usable": cluster.phase in {Phase.READY, Phase.DEGRADED},
        "order": cluster.orders.filter(kind=OrderKind.CREATE).first(),
        "ending": cluster.orders.filter(kind=OrderKind.TERMINATE, state=OrderState.APPROVED).first(),
        "may_terminate": may(actor, Action.TERMINATE),
        "may_submit": may(actor, Action.SUBMIT_JOB),
    }


def cluster_as_of(row: Cluster) -> dt.datetime | None:
    """The last look at its Slurm."""
    return SlurmEndpoint.objects.filter(cluster=row).values_list("observed_at", flat=True).first()


def nodes_context(actor: Actor, row: Cluster) -> JSONDict:
    """Nodes as Slurm last told of them, and the machines beneath."""
    machines = Allocation.objects.filter(pool__cluster=row, released_at=None)
    return {
        "cluster": row,
        "tenant": actor.tenant,
        "slurm": SlurmEndpoint.objects.filter(cluster=row).first(),
        "nodes": Node.objects.filter(cluster=row).order_by("name"),
        "machines": machines.select_related("machine", "machine__flavor", "pool").order_by("machine__name"),
    }


def steps_context(actor: Actor, row: Cluster) -> JSONDict:
    """Each step with its component, what it made and how often it was tried."""
    steps = list(StepState.objects.filter(cluster=row))
    return {
        "cluster": row,
        "tenant": actor.tenant,
        "steps": [
            {
                "state": step,
                "title": words.title_of(step.name),
                "component": words.component_of(step.component),
                "facts": fact_words.shown(step),
            }
            for step in steps
        ],
        "timeline": words.timeline_of(steps),
        "waiting": words.waiting_of_steps(steps),
    }


def events_context(actor: Actor, row: Cluster, after: str = "") -> JSONDict:
    """What happened, newest first, behind the event `after`; anything that is no event's id is the begin."""
    rows = StepEvent.objects.filter(cluster=row).order_by("-id")
    if is_place := after.isascii() and after.isdigit() and len(after) < LONGEST_ID:
        rows = rows.filter(id__lt=int(after))
    found = list(rows[: ROWS + 1])
    by = told.components(StepState.objects.filter(cluster=row)) if found else {}
    return {
        "cluster": row,
        "tenant": actor.tenant,
        "events": [
            {
                "event": event,
                "title": words.title_of(event.step),
                "why": told.detail(by.get(event.step, ""), event.reason, event.message),
            }
            for event in found[:ROWS]
        ],
        "next": str(found[ROWS - 1].pk) if len(found) > ROWS else "",
        "is_first": not is_place,
    }


def volcano_context(actor: Actor, row: Cluster) -> JSONDict:
    """Volcano's queues and jobs as a worker saw them last."""
    seen = WorkloadSnapshot.objects.filter(cluster=row).first()
    return {
        "cluster": row,
        "tenant": actor.tenant,
        "seen": seen,
        "is_usable": row.phase in {Phase.READY, Phase.DEGRADED},
        **volcano.shown(seen),
    }


def volcano_as_of(row: Cluster) -> dt.datetime | None:
    """The last look that saw them, or since when none does."""
    rows = WorkloadSnapshot.objects.filter(cluster=row)
    found: dt.datetime | None = rows.values_list(Coalesce("unreachable_since", "seen_at"), flat=True).first()
    return found


def clusters_context(actor: Actor, row: Tenant, *, removed: bool = False) -> JSONDict:
    """The list of clusters as it opens, or with the removed ones."""
    rows = selectors.with_figures(Cluster.objects.for_actor(actor)).select_related("site")
    if not removed:
        rows = rows.exclude(phase=Phase.DELETED)
    return {
        "tenant": row,
        "clusters": rows.order_by("deleted_at", "name"),
        "removed": removed,
        "may_order": may(actor, Action.ORDER),
    }


def orders_context(actor: Actor, row: Tenant, *, state: str = "", after: str = "") -> JSONDict:
    """The list of orders as it opens, or a part of it behind a place."""
    rows = selectors.order_list(actor, state=state).filter(keyset.behind(after, "created_at"))
    found = list(rows[: ROWS + 1])
    last = found[ROWS - 1] if len(found) > ROWS else None
    return {
        "tenant": row,
        "orders": found[:ROWS],
        "next": keyset.write(last.created_at, last.pk) if last else "",
        "is_first": not after,
        "state": state,
        "may_order": may(actor, Action.ORDER),
    }


OVERVIEW = register(
    LiveKind(
        live.OVERVIEW,
        Tenant.objects.all,
        "clusters/_overview.html",
        overview_context,
        as_of=overview_as_of,
    )
)
ORDER = register(LiveKind(live.ORDER, Order.objects.all, "clusters/order.html#live", order_context))
CLUSTER = register(
    LiveKind(
        live.CLUSTER, Cluster.objects.all, "clusters/cluster.html#live", cluster_context, as_of=cluster_as_of
    )
)
NODES = register(
    LiveKind(
        live.NODES,
        Cluster.objects.all,
        "clusters/cluster_nodes.html#live",
        nodes_context,
        as_of=cluster_as_of,
    )
)
STEPS = register(LiveKind(live.STEPS, Cluster.objects.all, "clusters/cluster_steps.html#live", steps_context))
VOLCANO = register(
    LiveKind(
        live.VOLCANO,
        lambda: Cluster.objects.filter(stack=Stack.VOLCANO),
        "clusters/cluster_volcano.html#live",
        volcano_context,
        as_of=volcano_as_of,
    )
)
EVENTS = register(
    LiveKind(live.EVENTS, Cluster.objects.all, "clusters/cluster_events.html#live", events_context)
)
CLUSTERS = register(
    LiveKind(live.CLUSTERS, Tenant.objects.all, "clusters/clusters.html#live", clusters_context)
)
ORDERS = register(LiveKind(live.ORDERS, Tenant.objects.all, "clusters/orders.html#live", orders_context))
