"""Orders of a tenant: the list, the form with its live summary, one order, its cancelling."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from clusters import kinds
from clusters.forms import OrderForms
from clusters.lines import cancelling
from clusters.models import Order
from clusters.names import NameRefused, cluster_name, pool_name
from clusters.services.orders import cancel_order, submit_order
from clusters.services.quotes import quote
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.models import Tenant
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


def tenant_of(request: TenantRequest) -> Tenant:
    """The tenant of the address; the door has set it."""
    assert request.actor.tenant is not None  # noqa: S101
    return request.actor.tenant


@require_safe
@in_tenant
def orders(request: TenantRequest) -> HttpResponse:
    """Every order, newest first; only the list as it opens is live."""
    tenant, state, after = tenant_of(request), request.GET.get("state", ""), request.GET.get("after", "")
    state = state if state in {"open", "ended"} else ""
    context = kinds.orders_context(request.actor, tenant, state=state, after=after)
    context["is_live"] = not state and not after
    context["live_topics"] = [kinds.ORDERS.topic(tenant)] if context["is_live"] else []
    return render(request, "clusters/orders.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def order_new(request: TenantRequest) -> HttpResponse:
    """The order form. "more" adds a row and "check" sums up: both for browsers without the script."""
    require(request.actor, Action.ORDER)
    if request.method != "POST":
        return _form(request, OrderForms(again=_again(request)))
    if "more" in request.POST or "check" in request.POST:
        return _form(
            request, OrderForms(request.POST, more="more" in request.POST), quiet="more" in request.POST
        )
    forms = OrderForms(request.POST)
    if forms.is_valid():
        try:
            order = submit_order(
                actor=request.actor, key=forms.order.cleaned_data["key"], request=forms.request()
            )
        except BadInput as error:
            forms.show(error)
        else:
            return redirect("order", tenant_of(request).slug, order.pk)
    return _form(request, forms, status=400)


@require_safe
@in_tenant
def order_summary(request: TenantRequest) -> HttpResponse:
    """The summary beside the form, for what is filled in so far."""
    require(request.actor, Action.ORDER)
    forms = OrderForms(request.GET)
    return render(request, "clusters/order_form.html#summary", _summary(request, forms))


@require_safe
@in_tenant
def order(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """One order."""
    row = get_visible(Order.objects.all(), request.actor, pk)
    context = kinds.order_context(request.actor, row) | {"live_topics": [kinds.ORDER.topic(row)]}
    return render(request, "clusters/order.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@in_tenant
def order_cancel(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """Take an order back; a GET asks first, for browsers without the dialog."""
    row = get_visible(Order.objects.all(), request.actor, pk, Action.ORDER)
    if request.method != "POST":
        context = {"order": row, "tenant": tenant_of(request), "cancelling": cancelling(row)}
        return render(request, "clusters/order_cancel.html", context)
    cancel_order(actor=request.actor, order=row)
    messages.success(request, cancelling(row).done)
    return redirect("order", tenant_of(request).slug, row.pk)


def _again(request: TenantRequest) -> Order | None:
    """The order that is to be sent again with changes, if the address names one of this tenant."""
    key = request.GET.get("from", "")
    return get_visible(Order.objects.all(), request.actor, key, Action.ORDER) if key else None


def _form(
    request: TenantRequest, forms: OrderForms, *, status: int = 200, quiet: bool = False
) -> HttpResponse:
    context = {"forms": forms, "show_errors": status != 200, "quiet": quiet} | _summary(request, forms)
    return render(request, "clusters/order_form.html", context, status=status)


def _summary(request: TenantRequest, forms: OrderForms) -> JSONDict:
    tenant = tenant_of(request)
    if forms.data is None:
        chosen = [
            (pool.initial["offering"], pool.initial["count"])
            for pool in forms.pools
            if pool.initial.get("offering") and pool.initial.get("count")
        ]
        return {"tenant": tenant, "quote": quote(tenant, chosen), "names": [], "remarks": forms.remarks()}
    return {
        "tenant": tenant,
        "quote": quote(tenant, forms.chosen()),
        "names": _mapped(forms),
        "no_stack": forms.no_stack(),
        "remarks": forms.remarks(),
    }


def _mapped(forms: OrderForms) -> list[tuple[str, str]]:
    """Names that will differ from what was typed."""
    typed = [(str(forms.order["name"].value() or ""), cluster_name)]
    typed += [(str(pool["name"].value() or ""), pool_name) for pool in forms.used()]
    found = []
    for text, rule in typed:
        try:
            safe = rule(text)
        except NameRefused:
            continue
        if safe != text:
            found.append((text, safe))
    return found
