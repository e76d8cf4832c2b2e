"""The pages of usage, and the file."""

from __future__ import annotations

import json
import uuid

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from clusters.models import Cluster
from jobs.usage import figures, files, spans
from jobs.usage.counting import Question
from jobs.usage.worst import ROWS, worst
from portal.lib import clock
from tenants.rights import Action, require
from tenants.scoping import get_visible
from tenants.trail import in_async
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def usage(request: TenantRequest) -> HttpResponse:
    """GPU-hours by day, cluster, member, account and partition; the same as a file."""
    require(request.actor, Action.VIEW)
    form, span = spans.read(request.GET)
    found = figures.usage(Question(request.actor, span, clock.now(), _cluster(request)))
    context = {
        "usage": found,
        "form": form,
        "clusters": Cluster.objects.for_actor(request.actor).order_by("name", "pk"),
        "chosen": request.GET.get("cluster", ""),
        "plot": json.dumps(found.plot()),
        "words": json.dumps(
            {
                "at": _("Day"),
                "gpu": _("GPU-hours"),
                "cpu": _("CPU-hours"),
                "cost": _("Share of nodes"),
            }
        ),
        "query": request.GET.urlencode(),
    }
    return render(request, "jobs/usage.html", context)


@require_safe
@in_tenant
def usage_file(request: TenantRequest) -> HttpResponse | StreamingHttpResponse:
    """The same days as CSV, with every line."""
    require(request.actor, Action.VIEW)
    _form, span = spans.read(request.GET)
    chunks = files.as_csv(Question(request.actor, span, clock.now(), _cluster(request)))
    answer = StreamingHttpResponse(
        in_async(chunks) if isinstance(request, ASGIRequest) else chunks,
        content_type="text/csv; charset=utf-8",
    )
    tenant = request.actor.tenant
    name = files.name_of(tenant.slug if tenant else "", span)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "private, no-store"
    return answer


@require_safe
@in_tenant
def usage_worst(request: TenantRequest) -> HttpResponse:
    """Jobs that left most of what they were given idle."""
    require(request.actor, Action.VIEW)
    form, span = spans.read(request.GET)
    context = {"form": form, "span": span, "uses": worst(request.actor, span)[:ROWS]}
    return render(request, "jobs/usage_worst.html", context)


def _cluster(request: TenantRequest) -> uuid.UUID | None:
    """The one that was asked for. Raises NotVisible (404) for one of somebody else's."""
    key = request.GET.get("cluster", "")
    return get_visible(Cluster.objects.all(), request.actor, key).pk if key else None
