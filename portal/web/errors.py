"""The one mapping from errors to HTTP for pages."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from portal.lib.errors import FreeholdError


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
        return render(request, f"errors/{error.status}.html", {"error": error}, status=error.status)


def _page(request: HttpRequest, status: int) -> HttpResponse:
    return render(request, f"errors/{status}.html", status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler400."""
    return _page(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler403; CSRF failures too."""
    return _page(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Django's handler404."""
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: never a stack trace."""
    return _page(request, 500)
