"""Saved views: the list of one's own, and what makes, renames and deletes them."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from clusters.models import Cluster
from jobs.services import saved_views as service
from portal.lib.errors import BadInput
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def views(request: TenantRequest) -> HttpResponse:
    """GET: one's own views. POST: keep the list that was looked at under a name."""
    if request.method == "POST":
        return _save(request)
    actor = request.actor
    rows = [(view, service.address_of(actor, view)) for view in service.own_views(actor)]
    return render(request, "jobs/views.html", {"rows": rows})


def _save(request: TenantRequest) -> HttpResponse:
    cluster = None
    if key := request.POST.get("cluster", ""):
        cluster = get_visible(Cluster.objects.all(), request.actor, key)
    try:
        view = service.save_view(
            actor=request.actor,
            name=request.POST.get("name", ""),
            query=request.POST.get("query", ""),
            cluster=cluster,
        )
    except BadInput as error:
        messages.error(request, " ".join(str(one) for one in error.fields.values()))
        return redirect("views", _slug(request))
    messages.success(request, _("Saved as %(name)s. It stands above the list.") % {"name": view.name})
    return redirect(service.address_of(request.actor, view))


@require_POST
@in_tenant
def view_rename(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Another name."""
    view = service.own_view(request.actor, pk)
    try:
        service.rename_view(actor=request.actor, view=view, name=request.POST.get("name", ""))
    except BadInput as error:
        messages.error(request, " ".join(str(one) for one in error.fields.values()))
    return redirect("views", _slug(request))


@require_POST
@in_tenant
def view_delete(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Forget one."""
    view = service.own_view(request.actor, pk)
    service.delete_view(actor=request.actor, view=view)
    messages.success(request, _("The view %(name)s is deleted.") % {"name": view.name})
    return redirect("views", _slug(request))


def _slug(request: TenantRequest) -> str:
    assert request.actor.tenant is not None  # noqa: S101  # in_tenant saw to it
    return request.actor.tenant.slug
