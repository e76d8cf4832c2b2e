"""The one mapping from errors to HTTP for pages: a page of its own, or a toast for an htmx request.

The API has another (tenants.api.problems); what fails before or beside it is handed over here.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from portal.lib.errors import FreeholdError
from tenants.api.problems import plain_response

API = "/api/"
PAGES = frozenset({400, 403, 404, 409, 500, 502, 503})


class ErrorMiddleware:
    """Turns a FreeholdError that left a view into its page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Known errors become pages; others are bugs and Django's handler500 answers."""
        if not isinstance(error, FreeholdError):
            return None
        if getattr(request, "htmx", False):
            return _toast(request, f"{error.message} {error.hint}".strip(), error.status)
        return _page(request, error.status, error)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler400."""
    return _page(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler403."""
    return _page(request, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Django's CSRF_FAILURE_VIEW: a form from before a sign-in, or without cookies. Nothing was done."""
    if getattr(request, "htmx", False):
        return _toast(request, _("This page is too old to send that. Nothing was done; reload it."), 403)
    return render(request, "errors/403_csrf.html", status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler404: the same page as for what is not visible."""
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: never a stack trace, and no database, which may be what failed."""
    if request.path.startswith(API):
        return plain_response(request, 500)
    return HttpResponse(render_to_string("errors/500.html", {"request": request}), status=500)


def _page(request: HttpRequest, status: int, error: FreeholdError | None = None) -> HttpResponse:
    if request.path.startswith(API):
        return plain_response(request, status, error)
    name = status if status in PAGES else 500
    return render(request, f"errors/{name}.html", {"error": error}, status=status)


def _toast(request: HttpRequest, text: str, status: int) -> HttpResponse:
    """The page stays as it is, with what was typed; the toast goes to its own place."""
    response = render(request, "components/toast.html", {"text": text, "tone": "red"}, status=status)
    response["HX-Reswap"] = "none"
    return response
