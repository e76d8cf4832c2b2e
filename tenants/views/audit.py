"""The tenant's own audit trail."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from portal.lib.errors import BadInput
from tenants.models import AuditEvent
from tenants.rights import Action, require
from tenants.trail import page_of
from tenants.trail_web import TrailForm
from tenants.trail_web import export as export_rows
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def audit(request: TenantRequest) -> HttpResponse:
    """Who did what, when, from where; newest first, the next page begins after the last key."""
    require(request.actor, Action.READ_AUDIT)
    form = TrailForm(request.GET)
    asked = form.filter()
    before = request.GET.get("before", "")
    page = page_of(asked.of(AuditEvent.objects.for_actor(request.actor)), before)
    context = {
        "events": page.events,
        "older": page.older,
        "is_first": not before,
        "form": form,
        "asked": asked.facts(),
    }
    return render(request, "tenants/audit.html", context, status=400 if form.errors else 200)


@require_POST
@in_tenant
def export(request: TenantRequest) -> HttpResponseBase:
    """The events that fit the filters, all of them, as CSV or JSON lines."""
    require(request.actor, Action.READ_AUDIT)
    form = TrailForm(request.POST)
    asked = form.filter()
    if form.errors:
        raise BadInput(fields={name: " ".join(map(str, told)) for name, told in form.errors.items()})
    rows = AuditEvent.objects.for_actor(request.actor)
    return export_rows(request, actor=request.actor, tenant=request.actor.tenant, rows=rows, asked=asked)
