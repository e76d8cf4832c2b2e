"""The settings of a cluster: its end, and calling that off."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from clusters.forms import TerminateForm
from clusters.models import Cluster, OrderKind, OrderState
from clusters.services.changes import open_change
from clusters.services.clusters import terminate_cluster
from clusters.services.desired import is_settled
from clusters.services.resize_checks import pools_of
from clusters.views.clusters import CLUSTERS
from clusters.views.orders import tenant_of
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.rights import Action, may
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def cluster_settings(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """What can be changed about a cluster."""
    row = get_visible(CLUSTERS.all(), request.actor, pk)
    context = _context(request, row) | {
        "may_terminate": may(request.actor, Action.TERMINATE),
        "may_order": may(request.actor, Action.ORDER),
        "change": open_change(row),
        "settled": is_settled(row),
        "pools": pools_of(row),
    }
    return render(request, "clusters/cluster_settings.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def terminate(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """End a cluster: the name is typed; in 24 hours or now."""
    row = get_visible(CLUSTERS.all(), request.actor, pk, Action.TERMINATE)
    form = TerminateForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            order = terminate_cluster(
                actor=request.actor,
                cluster=row,
                typed_name=form.cleaned_data["confirm"],
                at_once=form.cleaned_data["when"] == "now",
            )
        except BadInput as error:
            for name, message in error.fields.items():
                form.add_error(name, message)
        else:
            words = _("Removal is scheduled; until then it can be called off.")
            row.refresh_from_db()
            now = _("%(cluster)s is being removed.") % {"cluster": row.name}
            messages.success(request, words if row.terminate_at else now)
            return redirect("order", tenant_of(request).slug, order.pk)
    context = _context(request, row) | {"form": form}
    return render(request, "clusters/terminate.html", context, status=400 if form.errors else 200)


def _context(request: TenantRequest, row: Cluster) -> JSONDict:
    ending = row.orders.filter(kind=OrderKind.TERMINATE, state=OrderState.APPROVED).first()
    return {"cluster": row, "tenant": tenant_of(request), "ending": ending, "tab": "settings"}
