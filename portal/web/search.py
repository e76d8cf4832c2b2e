"""The search box of the top bar: jobs, clusters and orders of the tenant in the address."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from clusters.selectors import find_clusters, find_orders
from jobs.selectors import NAMED_AMONG, SHORT, find_jobs
from portal.lib.types import JSONDict
from tenants.web import TenantRequest, in_tenant

LONGEST = 200
MOST = 10  # of each kind; whoever needs more has the lists with their filters


@require_safe
@in_tenant
def search(request: TenantRequest) -> HttpResponse:
    """Grouped results, one query for each kind, bounded; nothing is asked for without a text."""
    q = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST]
    context: JSONDict = {"q": q, "most": MOST, "named_among": NAMED_AMONG if len(q) < SHORT else None}
    if q:
        context |= {
            "jobs": find_jobs(request.actor, q, most=MOST),
            "clusters": find_clusters(request.actor, q, most=MOST),
            "orders": find_orders(request.actor, q, most=MOST),
        }
        context["found"] = sum(len(context[kind]) for kind in ("jobs", "clusters", "orders"))
    return render(request, "portal/search.html", context)
