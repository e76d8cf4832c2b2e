"""What the frame around every page needs."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from portal.lib.types import JSONDict
from tenants.actor import NOBODY
from tenants.models import Membership


def frame(request: HttpRequest) -> JSONDict:
    """Context processor: the actor, the person's tenants, the product's name."""
    actor = getattr(request, "actor", NOBODY)
    mine = (
        Membership.objects.select_related("tenant")
        .filter(user=actor.user, ended_at=None, tenant__suspended_at=None)
        .order_by("tenant__name")
        if actor.user is not None
        else Membership.objects.none()
    )
    return {
        "actor": actor,
        "my_tenants": [membership.tenant for membership in mine],
        "product": settings.PRODUCT_NAME,
        "demo": settings.MODE == "demo",
    }
