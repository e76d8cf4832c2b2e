"""The root of the REST API, its schema and its reference: they show no data, so they ask nobody who it is."""

from __future__ import annotations

import functools
import threading
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import include, path, reverse
from django.utils.translation import get_language
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

import tenants.api.schema  # noqa: F401  # makes the security scheme known
from portal.lib.types import JSONDict
from portal.web import reference

_making = threading.Lock()


@require_safe
def root(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Where to go on."""
    names = {"schema": "api-schema", "docs": "api-docs", "me": "api-me", "tenants": "api-my-tenants"}
    return JsonResponse({name: settings.PUBLIC_URL + reverse(address) for name, address in names.items()})


def schema_document() -> JSONDict:
    """The OpenAPI document, made once for each process; its maker is not made for two threads."""
    with _making:
        return _made_document()


@functools.lru_cache(maxsize=1)
def _made_document() -> JSONDict:
    generator: Any = SchemaGenerator(api_version="v1")  # type: ignore[no-untyped-call]
    document: JSONDict = generator.get_schema(request=None, public=True)
    return document


@cache_control(public=True, max_age=300)
@require_safe
def schema(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """The OpenAPI document."""
    return JsonResponse(schema_document(), content_type="application/vnd.oai.openapi+json")


@functools.lru_cache(maxsize=8)
def _reference(language: str) -> reference.Reference:  # noqa: ARG001  # it is in this language
    return reference.read(schema_document(), settings.PUBLIC_URL)


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The reference, made here from the document: it needs no script and looks like the other pages."""
    base = settings.PUBLIC_URL + reference.PREFIX
    context = {"reference": _reference(get_language() or ""), "base": base}
    return render(request, "portal/api_docs.html", context)


urlpatterns = [
    path("", root, name="api-root"),
    path("schema/", schema, name="api-schema"),
    path("docs/", docs, name="api-docs"),
    path("", include("tenants.api.urls")),
    path("t/<slug:tenant>/", include("clusters.api.urls")),
    path("t/<slug:tenant>/", include("jobs.api.urls")),
]
