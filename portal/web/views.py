"""Where a person lands, and whether the portal is well."""

from __future__ import annotations

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Signed out: what this is and how to sign in. Signed in: on to the welcome page or a tenant."""
    return render(request, "portal/home.html")


@require_safe
def health(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """200 when the database answers; for load balancers and the supervisor."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
