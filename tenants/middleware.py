"""Gives every request an id and an actor."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tenants.actor import NOBODY

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
    """Who is asking."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Outside a tenant until the view enters one."""
        request.actor = NOBODY  # type: ignore[attr-defined]
        return self.get_response(request)
