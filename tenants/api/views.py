"""The base of every operation: who asks, in which tenant, in one read-only snapshot for a GET."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.actor import Actor
from tenants.api import problems
from tenants.api.keys import HEADER as KEY_HEADER
from tenants.api.serializers import Problem, VersionHeader
from tenants.web import reading

Handler = Callable[..., Response]


class ApiView(APIView):
    """An address of the API for the person of a token; `actor` is who asks."""

    http_method_names = ["get", "head", "post", "patch", "delete"]
    door = "person"  # the architecture tests look for it
    actor: Actor

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse nobody with 401; then the actor, as of now."""
        super().initial(request, *args, **kwargs)
        self.actor = self._enter(cast(Actor, request.auth), **kwargs)

    def _enter(self, actor: Actor, **_: Any) -> Actor:
        return actor

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Nothing here is for shared caches, and only what has an ETag for any."""
        final = super().finalize_response(request, response, *args, **kwargs)
        final["Cache-Control"] = "private, no-cache" if "ETag" in final else "no-store"
        patch_vary_headers(final, ["Authorization"])
        return final


class TenantApi(ApiView):
    """An address below /api/v1/t/<tenant>/: 404 unless the token is one of a live member of it."""

    door = "tenant"

    def _enter(self, actor: Actor, **kwargs: Any) -> Actor:
        return actor.within(kwargs["tenant"])


def operation(
    name: str,
    *,
    tag: str,
    answer: Any = None,
    status: int = 200,
    more: dict[int, Any] | None = None,
    body: Any = None,
    query: type[serializers.Serializer[Any]] | None = None,
    keyed: bool = False,
    versioned: bool = False,
    outside: bool = False,
) -> Callable[[Handler], Handler]:
    """One operation of the API: its name and what it takes and gives, for the schema and its tests.

    `keyed` needs an Idempotency-Key, `versioned` has an ETag, `outside` waits for a system behind the portal.
    The handler gets the arguments of the address without the tenant's slug.
    """

    def decorate(handler: Handler) -> Handler:
        reads = handler.__name__ == "get"

        @functools.wraps(handler)
        def inner(self: ApiView, request: Request, **kwargs: Any) -> Response:
            kwargs.pop("tenant", None)
            with reading(request._request):  # noqa: SLF001  # the documented way to Django's request
                return handler(self, request, **kwargs)

        described = extend_schema(
            operation_id=name,
            tags=[tag],
            request=body,
            parameters=_parameters(query, keyed=keyed, versioned=versioned),
            responses=_responses(
                {status: answer, **(more or {})},
                _refusals(reads=reads, takes=body is not None, keyed=keyed, outside=outside),
                versioned=versioned,
            ),
        )
        return described(inner)

    return decorate


def read_query(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The parameters of the address. Raises ValidationError (400), for a filter that there is not, too."""
    asked = request.query_params.dict()
    refuse_unknown(_reader(kind), asked)
    return _read(kind, asked)


def read_body(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The body. Raises ValidationError (400)."""
    return _read(kind, request.data)


def refuse_unknown(reader: serializers.Serializer[Any], sent: Any) -> None:
    """Raise ValidationError for a name that would be dropped without a word."""
    unknown = sent.keys() - reader.fields.keys() if isinstance(sent, Mapping) else set()
    if unknown:
        raise serializers.ValidationError({name: _("There is no such value.") for name in sorted(unknown)})


def _read(kind: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    found: dict[str, Any] = _reader(kind).run_validation(data)
    return found


@functools.cache
def _reader(kind: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Made once: for each request all of its fields would be copied. Reading leaves nothing in it."""
    return kind()


def _parameters(
    query: type[serializers.Serializer[Any]] | None, *, keyed: bool, versioned: bool
) -> list[Any]:
    found: list[Any] = [query] if query is not None else []
    if keyed:
        found.append(
            OpenApiParameter(
                KEY_HEADER,
                {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[!-~]([ -~]{0,62}[!-~])?$"},
                OpenApiParameter.HEADER,
                required=True,
                description="A UUID, or up to 64 printable characters. The same key does a thing once.",
            )
        )
    if versioned:
        found.append(
            OpenApiParameter(
                "If-None-Match",
                str,
                OpenApiParameter.HEADER,
                description="The ETag that you have: 304 without a body while nothing changed.",
            )
        )
        found.append(VersionHeader)
    return found


def _refusals(*, reads: bool, takes: bool, keyed: bool, outside: bool) -> list[int]:
    found = {400, 401, 403, 404}
    if not reads:
        found |= {409}
    if takes:
        found |= {413, 415}
    if keyed:
        found |= {422}
    if outside:
        found |= {409, 502, 503}
    return sorted(found)


def _responses(good: dict[int, Any], bad: list[int], *, versioned: bool) -> dict[Any, Any]:
    found: dict[Any, Any] = dict(good)
    if versioned:
        found[304] = OpenApiResponse(description="Nothing changed.")
    for status in bad:
        title = problems.KINDS[status][1]
        found[(status, problems.MEDIA_TYPE)] = OpenApiResponse(Problem, description=f"{title}.")
    return found
