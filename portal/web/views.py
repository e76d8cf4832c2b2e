"""Where a person lands, and whether the portal is well."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from tenants.actor import NOBODY
from tenants.services.members import tenants_of


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Signed out: what this is and how to sign in. Signed in: on to the welcome page or a tenant."""
    actor = getattr(request, "actor", NOBODY)
    if actor.user is None:
        return render(request, "portal/home.html")
    mine = tenants_of(actor.user)
    if len(mine) == 1:
        return redirect(f"/t/{mine[0].slug}/")
    if mine:
        return render(request, "portal/choose.html")
    return redirect("admin:index" if actor.is_operator else "welcome")


@require_safe
def health(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """200 when the database answers; for load balancers and the supervisor."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
