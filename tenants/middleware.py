"""Gives every request an id and an actor."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Callable
from dataclasses import replace

from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse

from tenants.signin.session import actor_of, note_seen

Handler = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """A UUID per request, echoed as X-Request-ID and kept in audit rows."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set it before anything can fail."""
        request.request_id = str(uuid.uuid4())  # type: ignore[attr-defined]
        response = self.get_response(request)
        response["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
        return response


class ActorMiddleware:
    """Who is asking: request.actor, outside a tenant until the view enters one; request.user to match."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Afresh at each request, so that a right that was taken away is gone at once."""
        actor = actor_of(request.session, get_user(request))
        request.user = actor.user or AnonymousUser()
        if actor.identity is not None:
            note_seen(actor.identity)
        request.actor = replace(  # type: ignore[attr-defined]
            actor,
            address=address_of(request),
            request_id=request.request_id,  # type: ignore[attr-defined]
        )
        return self.get_response(request)


def address_of(request: HttpRequest) -> str | None:
    """The client's address as the server tells it (uvicorn reads the proxy's headers), or None."""
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None
