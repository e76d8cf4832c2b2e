"""What operators begin with: orders that wait, capacity, stalled steps, clusters by phase; all tenants."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from clusters.models import Cluster, Flavor, Order, OrderState, Phase, Site, StepState, StepStatus
from clusters.reasons import explain
from clusters.services.capacity import Capacity, capacity
from clusters.words import title_of
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.actor import Actor

MOST = 20  # rows of each list; beyond, the list of the admin
SILENT_FOR = dt.timedelta(minutes=2)


def fleet_context(actor: Actor) -> JSONDict:
    """For the first page of Operations. A fixed number of queries; empty for anyone but operators."""
    waiting = Order.objects.for_operator(actor).filter(state=OrderState.SUBMITTED)
    stalled = _stalled(actor)
    return {
        "waiting": _orders(waiting),
        "waiting_count": waiting.count(),
        "decided": _decided(actor),
        "stalled": [
            {"step": step, "title": title_of(step.name), "why": explain(step.reason, step.message)}
            for step in stalled[:MOST]
        ],
        "stalled_count": stalled.count(),
        "silent": _silent(actor),
        "phases": _phases(actor),
        "sites": capacity_by_site() if actor.is_operator else [],
    }


def _orders(waiting: QuerySet[Order]) -> list[JSONDict]:
    rows = list(
        waiting.select_related("tenant", "site")
        .prefetch_related("lines__flavor")
        .order_by("submitted_at", "pk")[:MOST]
    )
    known = capacity({row.site for row in rows}) if rows else {}
    return [
        {
            "order": row,
            "asks": [
                {"line": line, "free": known.get((row.site_id, line.flavor_id), _NONE).free}
                for line in row.lines.all()
            ],
            "error": plan_error(row),
        }
        for row in rows
    ]


_NONE = Capacity(site_id=Site().pk, flavor_id=Flavor().pk)


def plan_error(order: Order) -> JSONDict | None:
    """Why there is no plan: reason, message in a sentence, and the stored hint."""
    error: JSONDict | None = (order.plan or {}).get("error")
    return error and {**error, "message": explain(str(error["reason"]), str(error["message"]))}


def _decided(actor: Actor) -> list[Order]:
    """The last decisions, for a queue in which nothing waits."""
    rows = Order.objects.for_operator(actor).filter(decided_at__isnull=False, decided_by__isnull=False)
    return list(rows.select_related("tenant", "decided_by").order_by("-decided_at")[:5])


def _stalled(actor: Actor) -> QuerySet[StepState]:
    rows = StepState.objects.for_operator(actor).filter(status__in=[StepStatus.STALLED, StepStatus.DRIFTED])
    return (
        rows.exclude(cluster__phase__in=[Phase.DELETED, Phase.FAILED])
        .select_related("cluster", "cluster__tenant")
        .order_by("since", "pk")
    )


def _silent(actor: Actor) -> list[Cluster]:
    """Clusters whose Slurm has not answered for a while."""
    rows = Cluster.objects.for_operator(actor).filter(
        wanted=True, ready_at__isnull=False, slurm__unreachable_since__lt=clock.now() - SILENT_FOR
    )
    return list(rows.select_related("tenant", "slurm").order_by("slurm__unreachable_since")[:MOST])


def _phases(actor: Actor) -> list[JSONDict]:
    """Clusters that are not removed, by phase in the order of their lives."""
    rows: QuerySet[Any] = Cluster.objects.for_operator(actor).exclude(phase=Phase.DELETED)
    found = rows.values("phase").annotate(
        clusters=Count("pk"), paused_ones=Count("pk", filter=Q(paused=True))
    )
    counted = {row["phase"]: row for row in found.order_by()}
    return [
        {"phase": phase.value, "clusters": row["clusters"], "paused": row["paused_ones"]}
        for phase in Phase
        if (row := counted.get(phase.value)) is not None
    ]


def capacity_by_site() -> list[JSONDict]:
    """Each site with the bars of its flavors, by name."""
    sites = {site.pk: site for site in Site.objects.order_by("name")}
    names = dict(Flavor.objects.values_list("pk", "name"))
    bars: dict[Any, list[JSONDict]] = {key: [] for key in sites}
    for (site, flavor), found in capacity().items():
        bars[site].append({"flavor": names[flavor], "parts": parts_of(found), "total": found.total})
    return [
        {"site": site, "bars": sorted(bars[key], key=lambda bar: str(bar["flavor"]))}
        for key, site in sites.items()
        if bars[key]
    ]


def parts_of(found: Capacity) -> list[JSONDict]:
    """The parts of a flavor's bar: for components that draw one."""
    return [
        {"label": _("in use"), "value": found.in_use, "tone": "blue"},
        {"label": _("being wiped"), "value": found.wiping, "tone": "amber"},
        {"label": _("broken"), "value": found.broken, "tone": "red"},
        {"label": _("free"), "value": found.free, "tone": "green"},
    ]
