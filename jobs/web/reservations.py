"""Reservations and licences of a cluster, as last seen."""

from __future__ import annotations

import datetime as dt
import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs.models import Inventory
from jobs.observer.pace import note_watched
from jobs.selectors import endpoint_of
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def reservations(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Who has kept which nodes for when, and how many of each licence are free."""
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_slurm(cluster)
    note_watched([cluster.pk])
    seen = Inventory.objects.for_actor(request.actor).filter(cluster=cluster).first()
    now = clock.now()
    context = {
        "cluster": cluster,
        "tenant": request.actor.tenant,
        "tab": "partitions",
        "endpoint": endpoint_of(cluster.pk),
        "seen": seen,
        "reservations": [_shown(one, now) for one in seen.reservations] if seen else [],
        "licenses": seen.licenses if seen else [],
    }
    return render(request, "jobs/reservations.html", context)


def _shown(kept: JSONDict, now: dt.datetime) -> JSONDict:
    """With its times as such, and whether it holds now."""
    start, end = (dt.datetime.fromisoformat(kept[name]) if kept[name] else None for name in ("start", "end"))
    is_over = end is not None and end <= now
    state = "ended" if is_over else "waiting" if start is not None and start > now else "active"
    return kept | {"start": start, "end": end, "state": state}
