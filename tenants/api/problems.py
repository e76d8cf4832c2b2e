"""The one mapping from errors to HTTP for the API: problem details (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from portal.lib.errors import BadInput, FreeholdError, OutsideError
from portal.lib.types import JSONDict

MEDIA_TYPE = "application/problem+json"
KINDS: Mapping[int, tuple[str, str]] = {
    400: ("bad-input", "Some of what you sent cannot be used"),
    401: ("not-authenticated", "A valid API token is needed"),
    403: ("not-allowed", "Your role or token does not allow this"),
    404: ("not-visible", "There is nothing here for you"),
    405: ("method-not-allowed", "This address does not take this method"),
    409: ("wrong-state", "This is not possible in the present state"),
    413: ("too-large", "The request is too large"),
    415: ("unsupported-media-type", "The API takes application/json"),
    422: ("key-reused", "This Idempotency-Key was used for another request"),
    500: ("internal", "Something went wrong"),
    502: ("outside-failed", "A system behind the portal did not do what was asked"),
    503: ("outside-unavailable", "A system behind the portal did not answer"),
}

HOW_TO_ASK = "Send the header `Authorization: Bearer` with an API token."


class TooLarge(exceptions.APIException):
    """More than the API reads."""

    status_code = 413
    default_detail = "The body is larger than 4 MiB."


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """REST framework's exception handler. None for a bug: handler500 answers, and the log has it."""
    request = context.get("request")
    request_id = str(getattr(request, "request_id", ""))
    if isinstance(error, FreeholdError):
        return _response(of_ours(error, request_id))
    if isinstance(error, Http404):
        return _response(problem(404, request_id=request_id))
    if not isinstance(error, exceptions.APIException):
        return None
    if isinstance(error, exceptions.ValidationError):
        return _response(problem(400, request_id=request_id, errors=flat(error.detail)))
    detail = HOW_TO_ASK if isinstance(error, exceptions.NotAuthenticated) else str(error.detail)
    response = _response(problem(error.status_code, detail, request_id=request_id))
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    return response


def of_ours(error: FreeholdError, request_id: str = "") -> JSONDict:
    """The problem of one of our errors: its own words, and for bad input the fields."""
    found = problem(error.status, error.message, request_id=request_id)
    found["title"] = str(error.title)
    if error.hint:
        found["hint"] = error.hint
    if isinstance(error, BadInput) and error.fields:
        found["errors"] = {name: [message] for name, message in error.fields.items()}
    if isinstance(error, OutsideError):
        found["reason"] = error.reason
    return found


def problem(
    status: int, detail: str = "", *, request_id: str = "", errors: Mapping[str, list[str]] | None = None
) -> JSONDict:
    """A problem of this status."""
    kind, title = KINDS.get(status, KINDS[500])
    found: JSONDict = {"type": f"urn:freehold:problem:{kind}", "title": title, "status": status}
    if detail:
        found["detail"] = detail
    if errors:
        found["errors"] = dict(errors)
    if request_id:
        found["request_id"] = request_id
    return found


def flat(detail: Any, at: str = "") -> dict[str, list[str]]:
    """REST framework's nested messages by the path of their field: `pools.0.count`; "" is the whole body."""
    if isinstance(detail, Mapping):
        pairs = [("" if name == "non_field_errors" else str(name), inner) for name, inner in detail.items()]
    elif isinstance(detail, list) and any(isinstance(inner, Mapping | list) for inner in detail):
        pairs = [(str(number), inner) for number, inner in enumerate(detail) if inner]
    else:
        return {at: [str(text) for text in (detail if isinstance(detail, list) else [detail])]}
    found: dict[str, list[str]] = {}
    for name, inner in pairs:
        for path, texts in flat(inner, ".".join(part for part in (at, name) if part)).items():
            found.setdefault(path, []).extend(texts)
    return found


def plain_response(request: HttpRequest, status: int, error: FreeholdError | None = None) -> HttpResponse:
    """A problem outside of REST framework: an unknown address, or a bug."""
    request_id = str(getattr(request, "request_id", ""))
    found = of_ours(error, request_id) if error else problem(status, request_id=request_id)
    response = HttpResponse(json.dumps(found), status=status, content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    return response


def _response(found: JSONDict) -> Response:
    return Response(found, status=found["status"], content_type=MEDIA_TYPE)
