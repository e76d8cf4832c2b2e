"""The clusters of a tenant, and one cluster with its tabs."""

from __future__ import annotations

import json
import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from clusters import access, isolation, kinds, utilisation
from clusters.models import Cluster
from clusters.stacks import require_volcano
from clusters.views.orders import tenant_of
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.live.registry import LiveKind
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

FILES = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
CLUSTERS = Cluster.objects.select_related("site")


@require_safe
@in_tenant
def clusters(request: TenantRequest) -> HttpResponse:
    """Every cluster, also those that were removed when asked for; only the list as it opens is live."""
    tenant, removed = tenant_of(request), request.GET.get("removed") == "1"
    context = kinds.clusters_context(request.actor, tenant, removed=removed)
    context["live_topics"] = [] if removed else [kinds.CLUSTERS.topic(tenant)]
    return render(request, "clusters/clusters.html", context)


@require_safe
@in_tenant
def cluster(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What it is, whether it works, and while it is built: how far."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    context = kinds.CLUSTER.context(request.actor, row) | {
        "tab": "overview",
        "live_topics": [kinds.CLUSTER.topic(row)],
    }
    if row.was_ready:
        context |= _plots(request, row)
    return render(request, "clusters/cluster.html", context)


@require_safe
@in_tenant
def cluster_utilisation(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The plots alone, for the page that shows them and asks again every minute."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    return render(request, "clusters/_plots.html", _plots(request, row) | {"cluster": row})


def _plots(request: TenantRequest, row: Cluster) -> JSONDict:
    drawn = utilisation.plots(request.actor, row, now=clock.now())
    words = {
        "at": _("At"),
        "used": _("GPUs busy"),
        "gpus": _("GPUs up"),
        "nodes": _("Nodes up"),
        "nothing": _("Nothing measured yet."),
    }
    return {
        "plots": drawn,
        "plot_data": json.dumps(drawn.data(), separators=(",", ":")),
        "plot_words": json.dumps(words, ensure_ascii=False),
    }


@require_safe
@in_tenant
def cluster_nodes(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Nodes as Slurm last told of them."""
    return _tab(request, pk, kinds.NODES, "nodes", "clusters/cluster_nodes.html")


@require_safe
@in_tenant
def cluster_steps(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The plan as it stands."""
    return _tab(request, pk, kinds.STEPS, "steps", "clusters/cluster_steps.html")


@require_safe
@in_tenant
def cluster_volcano(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Volcano's queues and jobs; 404 where the stack has none."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    require_volcano(row)
    context = kinds.VOLCANO.context(request.actor, row)
    more = {"tab": "volcano", "live_topics": [kinds.VOLCANO.topic(row)]}
    return render(request, "clusters/cluster_volcano.html", context | more)


@require_safe
@in_tenant
def cluster_events(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What happened; only the newest are live."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    context = kinds.events_context(request.actor, row, request.GET.get("after", ""))
    live_topics = [kinds.EVENTS.topic(row)] if context["is_first"] else []
    more = {"tab": "events", "live_topics": live_topics}
    return render(request, "clusters/cluster_events.html", context | more)


@require_safe
@in_tenant
def cluster_access(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """How to reach it: Slurm through the portal, Kubernetes by a kubeconfig; or why not."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    context = access.access_context(request.actor, row)
    context |= {"tab": "access", "live_topics": [access.ACCESS.topic(row)]}
    return render(request, "clusters/cluster_access.html", context)


@require_safe
@in_tenant
def cluster_isolation(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What keeps it apart from other tenants; also as a file for auditors, in JSON or CSV."""
    row = get_visible(CLUSTERS.select_related("tenant"), request.actor, pk)
    found, now, form = isolation.layers(row), clock.now(), request.GET.get("format", "")
    if form not in FILES:
        context = {"cluster": row, "tenant": tenant_of(request), "layers": found, "tab": "isolation"}
        return render(request, "clusters/cluster_isolation.html", context)
    content = isolation.as_csv(found) if form == "csv" else isolation.as_json(row, found, at=now)
    answer = HttpResponse(content, content_type=FILES[form])
    name = f"{row.name}-isolation-{now:%Y%m%d-%H%M}.{form}"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _tab(request: TenantRequest, pk: uuid.UUID, kind: LiveKind, tab: str, template: str) -> HttpResponse:
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    context: JSONDict = kind.context(request.actor, row)
    return render(request, template, context | {"tab": tab, "live_topics": [kind.topic(row)]})
