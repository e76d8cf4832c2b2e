"""More or fewer nodes: the form with its live sum."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from clusters.models import Cluster, OrderState
from clusters.resize_forms import ResizeForms
from clusters.services.changes import require_changeable
from clusters.services.resize_quotes import quote
from clusters.services.resizing import submit_resize
from clusters.views.orders import tenant_of
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.rights import Action
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

ROWS = Cluster.objects.select_related("site", "tenant")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def resize(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The form. "more" adds a row and "check" sums up: both for browsers without the script."""
    row = get_visible(ROWS.all(), request.actor, pk, Action.ORDER)
    if request.method != "POST":
        require_changeable(row)  # says why not before anything is typed
        return _form(request, row, ResizeForms(row))
    if "more" in request.POST or "check" in request.POST:
        more = "more" in request.POST
        return _form(request, row, ResizeForms(row, request.POST, more=more), quiet=more)
    forms = ResizeForms(row, request.POST)
    if forms.is_valid():
        try:
            order = submit_resize(
                actor=request.actor,
                cluster=row,
                key=forms.main.cleaned_data["key"],
                request=forms.request(),
            )
        except BadInput as error:
            forms.show(error)
        else:
            if order.state == OrderState.APPROVED:
                messages.success(request, _("Approved by policy: it shrinks without an operator."))
            return redirect("order", tenant_of(request).slug, order.pk)
    return _form(request, row, forms, status=400)


@require_safe
@in_tenant
def resize_summary(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The summary beside the form, for what is filled in so far."""
    row = get_visible(ROWS.all(), request.actor, pk, Action.ORDER)
    return render(
        request, "clusters/resize.html#summary", _context(request, row, ResizeForms(row, request.GET))
    )


def _form(
    request: TenantRequest, row: Cluster, forms: ResizeForms, *, status: int = 200, quiet: bool = False
) -> HttpResponse:
    context = _context(request, row, forms) | {"show_errors": status != 200, "quiet": quiet}
    return render(request, "clusters/resize.html", context, status=status)


def _context(request: TenantRequest, row: Cluster, forms: ResizeForms) -> JSONDict:
    return {
        "cluster": row,
        "tenant": tenant_of(request),
        "tab": "settings",
        "forms": forms,
        "quote": quote(row, forms.lines()),
    }
