"""The partitions of a cluster, and one of them."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs import inside
from jobs.filters import Filter
from jobs.limits.service import has_accounting
from jobs.listing import Page
from jobs.observer.pace import note_watched
from jobs.selectors import endpoint_of
from jobs.web import tables
from portal.lib.types import JSONDict
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

COLUMNS = ("id", "state", "who", "gpus", "limit", "submitted")


@require_safe
@in_tenant
def partitions(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What each offers, and how many jobs run and wait there."""
    cluster, context = _frame(request, pk)
    context["partitions"] = inside.partitions_of(request.actor, cluster)
    context["has_accounting"] = has_accounting(cluster)
    return render(request, "jobs/partitions.html", context)


@require_safe
@in_tenant
def partition(request: TenantRequest, pk: uuid.UUID, name: str) -> HttpResponse:
    """Its limits, its nodes, what is free, and who waits."""
    cluster, context = _frame(request, pk)
    found = inside.partition_of(request.actor, cluster, name)
    waiting = Page(inside.first_waiting(request.actor, cluster, name))
    context |= tables.table_context(waiting, Filter(), COLUMNS, queue=True, sorts=False)
    context["partition"] = found
    return render(request, "jobs/partition.html", context)


def _frame(request: TenantRequest, pk: uuid.UUID) -> tuple[Cluster, JSONDict]:
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_slurm(cluster)
    note_watched([cluster.pk])
    context: JSONDict = {
        "cluster": cluster,
        "tenant": request.actor.tenant,
        "tab": "partitions",
        "endpoint": endpoint_of(cluster.pk),
    }
    return cluster, context
