"""The pages of a cluster's limits."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters.models import Cluster
from clusters.stacks import require_slurm
from jobs.limits import service
from jobs.limits.forms import LimitForm
from jobs.limits.models import FIELDS
from portal.lib.errors import NotVisible
from tenants.rights import Action, may, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

MOST = 200  # members on the page


@require_safe
@in_tenant
def limits(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Each member with what is limited, and whether Slurm has it."""
    cluster = _cluster(request, pk)
    context = {
        "cluster": cluster,
        "tab": "settings",
        "members": service.members_of(request.actor, cluster)[:MOST],
        "has_accounting": service.has_accounting(cluster),
        "may_change": may(request.actor, Action.MANAGE_PEOPLE),
    }
    return render(request, "jobs/limits.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def limit(request: TenantRequest, pk: uuid.UUID, member: uuid.UUID) -> HttpResponse:
    """The form of one member."""
    cluster = _cluster(request, pk)
    account = service.members_of(request.actor, cluster).filter(membership=member).first()
    if account is None:
        raise NotVisible
    require(request.actor, Action.MANAGE_PEOPLE)
    known = getattr(account, "limit", None)
    initial = {name: getattr(known, name) for name in FIELDS} if known else {}
    form = LimitForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        service.set_limits(actor=request.actor, cluster=cluster, member=member, limits=form.cleaned_data)
        messages.success(request, _("Saved. Slurm is told now."))
        return redirect("limits", request.actor.tenant.slug, cluster.pk)  # type: ignore[union-attr]
    context = {"cluster": cluster, "tab": "settings", "member": account, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "jobs/limit.html", context, status=status)


def _cluster(request: TenantRequest, pk: uuid.UUID) -> Cluster:
    cluster = get_visible(Cluster.objects.select_related("site"), request.actor, pk)
    require_slurm(cluster)
    return cluster
