"""Reads that span models: lists and pages of orders and clusters, each in a fixed number of queries."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import (
    Count,
    DecimalField,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Coalesce, Concat
from django.utils.translation import gettext as _

from clusters.fleet import parts_of
from clusters.lines import ENDED, Back, with_ending
from clusters.models import (
    OPEN_STATES,
    Allocation,
    Cluster,
    DesiredPools,
    Flavor,
    Node,
    NodePool,
    Order,
    OrderKind,
    OrderLine,
    Phase,
    PortBlock,
    Site,
    SlurmEndpoint,
    StepState,
)
from clusters.services.capacity import capacity
from clusters.services.desired import is_settled
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.scoping import TenantQuerySet

UNHEARD = Q(state__startswith="UNKNOWN")  # Slurm was started and the node has not reported yet: not down


def _number(rows: QuerySet[Any], key: str, total: Any, field: Any = None) -> Any:
    """A sum over rows of another table, as a subquery: joins would multiply each other."""
    sums = rows.filter(**{key: OuterRef("pk")}).order_by().values(key).annotate(total=total).values("total")
    return Coalesce(
        Subquery(sums, output_field=field or IntegerField()), 0, output_field=field or IntegerField()
    )


def with_figures(rows: TenantQuerySet[Cluster]) -> TenantQuerySet[Any]:
    """Clusters with nodes wanted, up, down and seen, GPUs, and price per hour."""
    nodes, pools = Node.objects.all(), NodePool.objects.all()
    money = DecimalField(max_digits=14, decimal_places=2)
    return rows.annotate(
        nodes_wanted=_number(pools, "cluster", Sum("count")),
        nodes_up=_number(nodes.filter(available=True), "cluster", Count("pk")),
        nodes_seen=_number(nodes, "cluster", Count("pk")),
        nodes_down=_number(nodes.filter(available=False).exclude(UNHEARD), "cluster", Count("pk")),
        gpus=_number(pools, "cluster", Sum(F("count") * F("flavor__gpu_count"))),
        gpus_used=_number(nodes, "cluster", Sum("gpus_used")),
        price_per_hour=_number(pools, "cluster", Sum(F("count") * F("price_per_hour")), money),
    )


def live_clusters(actor: Actor) -> TenantQuerySet[Any]:
    """Clusters of the actor's tenant that are not removed, with figures and steps."""
    rows = with_figures(Cluster.objects.for_actor(actor).exclude(phase=Phase.DELETED))
    return (
        rows.select_related("site", "slurm")
        .prefetch_related(Prefetch("steps", StepState.objects.order_by("position")))
        .order_by("name")
    )


def open_orders(actor: Actor) -> TenantQuerySet[Order]:
    """Orders that are neither done nor ended, with the steps of their clusters."""
    steps = Prefetch("cluster__steps", StepState.objects.order_by("position"))
    return (
        Order.objects.for_actor(actor)
        .filter(state__in=OPEN_STATES)
        .select_related("site", "cluster")
        .prefetch_related(steps, "lines__flavor")
        .order_by("submitted_at", "created_at")
    )


def taken_back(order: Order) -> Back:
    """How far an ended order was taken back; "" for one that is not ended or never began."""
    cluster = order.cluster
    if cluster is None or order.state not in ENDED:
        return ""
    if order.kind == OrderKind.CREATE:
        known: dict[str, Back] = {Phase.DELETED: "done", Phase.FAILED: "kept"}
        return known.get(cluster.phase, "working")
    last = DesiredPools.objects.filter(cluster=cluster).order_by("generation").last()
    mine = DesiredPools.objects.filter(cluster=cluster, order=order, restores=True).first()
    if mine is None:
        return ""
    if mine != last or not cluster.wanted:
        return "done"
    seen = cluster.observed_generation >= mine.generation and is_settled(cluster)
    return "done" if seen else "working"


def order_list(actor: Actor, *, state: str = "") -> TenantQuerySet[Any]:
    """Every order of the tenant, newest first, with no more than the page shows; its lines are `parts`."""
    rows = Order.objects.for_actor(actor).select_related("site", "cluster", "created_by")
    if state == "open":
        rows = rows.filter(state__in=OPEN_STATES)
    elif state == "ended":
        rows = rows.filter(~Q(state__in=OPEN_STATES))
    lines = Prefetch("lines", OrderLine.objects.select_related("flavor"), to_attr="parts")
    needed = rows.defer("plan", "site__settings", "site__drivers").prefetch_related(lines)
    return with_ending(needed).order_by("-created_at", "-pk")


def find_clusters(actor: Actor, text: str, *, most: int) -> list[Cluster]:
    """Clusters of the tenant whose name holds the text; the present ones first."""
    rows = Cluster.objects.for_actor(actor).filter(name__icontains=text).select_related("site")
    return list(rows.order_by(F("deleted_at").desc(nulls_first=True), "name")[:most])


def find_orders(actor: Actor, text: str, *, most: int) -> list[Order]:
    """Orders of the tenant for a cluster whose name holds the text; the newest first."""
    rows = Order.objects.for_actor(actor).filter(cluster_name__icontains=text).select_related("created_by")
    return list(with_ending(rows).order_by("-created_at", "-pk")[:most])


def slurm_of(cluster: Cluster) -> SlurmEndpoint | None:
    """The cluster's Slurm, if it has one; for operators."""
    return SlurmEndpoint.objects.filter(cluster=cluster).first()


def ports_of(cluster: Cluster) -> PortBlock | None:
    """The cluster's block of ports, if it has one; for operators."""
    return PortBlock.objects.filter(cluster=cluster).first()


def capacity_texts() -> dict[UUID, str]:
    """For each site: a100-4: 8 of 10, cpu-32: 10 of 10."""
    names = dict(Flavor.objects.values_list("pk", "name"))
    texts: dict[UUID, list[str]] = {}
    for (site, flavor), found in capacity().items():
        texts.setdefault(site, []).append(
            _("%(flavor)s: %(free)d of %(total)d")
            % {"flavor": names[flavor], "free": found.free, "total": found.total}
        )
    return {site: ", ".join(sorted(parts)) for site, parts in texts.items()}


def capacity_bars(site: Site) -> list[JSONDict]:
    """For each flavor at a site: its name and the parts of a bar."""
    names = dict(Flavor.objects.values_list("pk", "name"))
    bars = []
    for (_site, flavor), found in capacity([site]).items():
        told = {"total": found.total, "seen_at": found.seen_at}
        bars.append({"flavor": names[flavor], "parts": parts_of(found), **told})
    return sorted(bars, key=lambda bar: str(bar["flavor"]))


def with_holder(machines: QuerySet[Any]) -> QuerySet[Any]:
    """Machines with "tenant / cluster" of their live allocation as `holder`."""
    live = Allocation.objects.filter(machine=OuterRef("pk"), released_at=None)
    name = Concat("pool__cluster__tenant__slug", Value(" / "), "pool__cluster__name")
    rows: QuerySet[Any] = machines.annotate(holder=Subquery(live.annotate(text=name).values("text")[:1]))
    return rows
