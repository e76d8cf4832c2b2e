"""The page of a cluster's QOS and accounts."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs.limits.service import has_accounting
from jobs.observer.pace import note_watched
from jobs.rules.overview import overview_of
from jobs.selectors import endpoint_of
from portal.lib.errors import NotVisible
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def qos(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What each allows, who may use it and who does, and what is left of budgets."""
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_accounting(cluster)
    note_watched([cluster.pk])
    context = {
        "cluster": cluster,
        "tenant": request.actor.tenant,
        "tab": "partitions",
        "endpoint": endpoint_of(cluster.pk),
        "found": overview_of(request.actor, cluster),
    }
    return render(request, "jobs/qos.html", context)


def require_accounting(cluster: Cluster) -> None:
    """Raise NotVisible for a cluster without accounting: it has neither accounts nor QOS."""
    require_slurm(cluster)
    if not has_accounting(cluster):
        raise NotVisible(_("This cluster has no accounting, so it has neither accounts nor QOS."))
