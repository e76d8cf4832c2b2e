"""The poll of a live region: what keeps a page right when its socket does not."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from portal.lib.errors import NotVisible
from tenants.live.fragments import render_fragment
from tenants.live.registry import KINDS
from tenants.live.topics import version_of
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant


@require_safe
@in_tenant
def live(request: TenantRequest, kind: str, pk: uuid.UUID) -> HttpResponse:
    """The fragment, or 304 when the page shows it already."""
    known = KINDS.get(kind)
    if known is None:
        raise NotVisible
    row = get_visible(known.rows(), request.actor, pk, known.action)
    version = version_of(known.topic(row))
    etag = known.etag(version, row)
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(render_fragment(known, request.actor, row, version=version, oob=False))
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-store"
    return response
