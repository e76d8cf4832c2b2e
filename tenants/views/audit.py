"""The tenant's own audit trail."""

from __future__ import annotations

import csv
import io

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from tenants.audit import words_of
from tenants.commands import command
from tenants.models import AuditEvent
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet
from tenants.web import TenantRequest, in_tenant

PAGE = 50
MOST_EXPORTED = 20_000
LONGEST_QUERY = 100


@require_safe
@in_tenant
def audit(request: TenantRequest) -> HttpResponse:
    """Who did what, when, from where; newest first, the next page begins after the last key."""
    require(request.actor, Action.READ_AUDIT)
    q = request.GET.get("q", "").strip()[:LONGEST_QUERY].replace("\0", "")
    rows = _matching(request, q)
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: PAGE + 1])
    context = {
        "events": found[:PAGE],
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "is_first": not before,
        "q": q,
    }
    return render(request, "tenants/audit.html", context)


@require_POST
@in_tenant
def export(request: TenantRequest) -> HttpResponse:
    """The newest events as CSV; taking them along is itself recorded."""
    require(request.actor, Action.READ_AUDIT)
    with command("audit.exported", actor=request.actor, target=request.actor.tenant):
        rows = list(_matching(request, "")[:MOST_EXPORTED])
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["at", "who", "kind", "did", "verb", "what", "from", "through", "request"])
    for row in rows:
        cells = [row.at.isoformat(), row.actor_label, row.actor_kind, words_of(row.verb), row.verb]
        cells += [row.target_label, row.address or "", row.via, row.request_id]
        writer.writerow([_inert(cell) for cell in cells])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="audit-{request.actor.tenant.slug}.csv"'  # type: ignore[union-attr]
    return response


def _matching(request: TenantRequest, q: str) -> TenantQuerySet[AuditEvent]:
    rows = AuditEvent.objects.for_actor(request.actor).order_by("-id")
    if q:
        rows = rows.filter(Q(actor_label__icontains=q) | Q(target_label__icontains=q) | Q(verb__icontains=q))
    return rows


def _inert(cell: str) -> str:
    """A spreadsheet takes these beginnings for a formula."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
