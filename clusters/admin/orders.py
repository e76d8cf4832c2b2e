"""The operators' queue of orders, and the page on which one is decided."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters import lines, plans, touched, words
from clusters.admin.pages import PageAdmin
from clusters.models import Order, OrderKind, OrderLine, OrderState
from clusters.services import parameters
from clusters.services.capacity import capacity
from clusters.services.decisions import approve_order, reject_order
from clusters.services.review import review
from clusters.templatetags.orders import money
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.operations import badge, operations


def approve(actor: Actor, order: Order, sent: Mapping[str, str]) -> str:
    """Approve the plan whose hash the page showed."""
    approve_order(actor=actor, order=order, plan_hash=sent.get("plan_hash", ""), note=sent.get("note", ""))
    if order.kind == OrderKind.RESIZE:
        text = gettext("Approved: %(cluster)s is being changed.")
    else:
        text = gettext("Approved: %(cluster)s is being built.")
    return text % {"cluster": order.cluster_name}


def reject(actor: Actor, order: Order, sent: Mapping[str, str]) -> str:
    """Reject, with the reason that the tenant reads."""
    reject_order(actor=actor, order=order, note=sent.get("note", ""))
    return gettext("Rejected: %(tenant)s reads your note.") % {"tenant": order.tenant}


@admin.register(Order, site=operations)
class OrderAdmin(PageAdmin):
    """Waiting orders first, the oldest on top; then the last decisions."""

    page = "admin/clusters/order.html"
    verbs = {"approve": approve, "reject": reject}
    list_display = ("what", "tenant", "nodes", "site", "price", "status", "since")
    list_filter = ("state", "kind", "site", "tenant")
    search_fields = ("cluster_name", "tenant__slug", "tenant__name", "id")
    search_help_text = _("Cluster, tenant, id")
    list_select_related = ("tenant", "site", "cluster")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """Waiting first, oldest first; the others newest first."""
        waits = models.Q(state=OrderState.SUBMITTED)
        rows = super().get_queryset(request).prefetch_related("lines__flavor")
        waiting_since = models.Case(models.When(waits, then=models.F("submitted_at")))
        first = models.F("waiting_since").asc(nulls_last=True)
        ordered: models.QuerySet[models.Model] = lines.with_ending(rows).annotate(waiting_since=waiting_since)
        return ordered.order_by(first, "-created_at")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With the free nodes of each flavor, counted once for the whole list."""
        found = super().get_changelist_instance(request)
        there = capacity()
        for row in found.result_list:
            row.free = {line.flavor_id: _free(row, line, there) for line in row.lines.all()}
        return found

    @admin.display(description=_("Order"))
    def what(self, row: Order) -> str:
        """Kind and cluster."""
        return format_html('<span class="nowrap">{}: {}</span>', row.get_kind_display(), row.cluster_name)

    @admin.display(description=_("Needed and free"))
    def nodes(self, row: Any) -> str:
        """Count and flavor of each pool; while it waits also how many are free."""
        waits = row.state == OrderState.SUBMITTED
        pools = (
            (_pool(row, line), _and_free(row.free[line.flavor_id]) if waits else "")
            for line in row.lines.all()
        )
        return format_html_join(mark_safe("<br>"), '<span class="nowrap">{}{}</span>', pools) or "-"

    @admin.display(description=_("Per hour"), ordering="price_per_hour")
    def price(self, row: Order) -> str:
        """As agreed."""
        return money(row.price_per_hour, row.currency) if row.kind != OrderKind.TERMINATE else "-"

    @admin.display(description=_("State"), ordering="state")
    def status(self, row: Order) -> str:
        """As on the pages of tenants."""
        return badge(row.state, lines.state_word(row) or row.get_state_display())

    @admin.display(description=_("Submitted"), ordering="submitted_at")
    def since(self, row: Order) -> str:
        """Since when it waits, or waited."""
        if row.submitted_at is None:
            return "-"
        return format_html('<span class="nowrap">{}</span>', f"{row.submitted_at:%Y-%m-%d %H:%M} UTC")

    def page_context(self, actor: Actor, row: Order) -> JSONDict:
        """The review."""
        found = review(actor=actor, order=row)
        steps = [
            {
                **step,
                "title": words.title_of(step["name"]),
                **plans.made_by(row, step),
                **touched.things(step),
            }
            for step in found.steps
        ]
        before = sum((line.count_before * line.price_per_hour for line in found.lines), Decimal(0))
        return {
            "price_before": before,
            "review": found,
            "parameters": parameters.labelled(row.site, row.parameters),
            "steps": steps,
            "waits": row.state == OrderState.SUBMITTED,
            "may_take_back": row.state == OrderState.APPROVED
            and row.kind != OrderKind.TERMINATE
            and row.cluster is not None
            and row.cluster.wanted,
        }


def _pool(row: Order, line: OrderLine) -> str:
    if row.kind == OrderKind.RESIZE:
        told = {
            "pool": line.pool,
            "before": line.count_before,
            "after": line.count,
            "flavor": line.flavor.name,
        }
        return gettext("%(pool)s: %(before)d to %(after)d x %(flavor)s") % told
    return f"{line.count} x {line.flavor.name}"


def _and_free(count: int) -> str:
    return gettext(", %(count)d free") % {"count": count}


def _free(row: Any, line: Any, there: Mapping[Any, Any]) -> int:
    found = there.get((row.site_id, line.flavor_id))
    return found.free if found else 0
