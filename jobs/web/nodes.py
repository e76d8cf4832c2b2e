"""The page of one node of a cluster."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs import inside
from jobs.filters import Filter
from jobs.listing import Page
from jobs.observer.pace import note_watched
from jobs.selectors import endpoint_of
from jobs.web import tables
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

COLUMNS = ("id", "state", "who", "gpus", "cpus", "ran")


@require_safe
@in_tenant
def node(request: TenantRequest, pk: uuid.UUID, name: str) -> HttpResponse:
    """State and reason, what it has and what is taken, and the jobs on it."""
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_slurm(cluster)
    found = inside.node_of(request.actor, cluster, name)
    note_watched([cluster.pk])
    rows, count = inside.jobs_on(request.actor, cluster, name)
    context = {
        **tables.table_context(Page(rows), Filter(), COLUMNS, queue=True, sorts=False),
        "cluster": cluster,
        "tenant": request.actor.tenant,
        "tab": "nodes",
        "node": found,
        "count": count,
        "flags": found.state.split("+")[1:],
        "endpoint": endpoint_of(cluster.pk),
    }
    return render(request, "jobs/node.html", context)
