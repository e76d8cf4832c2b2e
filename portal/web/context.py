"""What the frame around every page needs."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from portal.lib.types import JSONDict
from portal.web.navigation import navigation, search_address
from tenants.actor import NOBODY, Actor
from tenants.models import Tenant
from tenants.services.members import tenants_of


def frame(request: HttpRequest) -> JSONDict:
    """Context processor: the actor, the person's tenants, where they can go, the product's name."""
    actor = getattr(request, "actor", NOBODY)
    return {
        "actor": actor,
        "my_tenants": _tenants_of(actor),
        "nav": navigation(actor, request.path),
        "search_url": search_address(actor),
        "product": settings.PRODUCT_NAME,
        "terms_url": settings.TERMS_URL,
        "demo": settings.MODE == "demo",
    }


def _tenants_of(actor: Actor) -> list[Tenant]:
    if actor.tenant is not None:
        return [place.tenant for place in actor.places]
    return tenants_of(actor.user) if actor.user is not None else []
