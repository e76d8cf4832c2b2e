"""Lists by keyset: page 100 costs what page 1 does, and nothing is shown twice or left out.

A cursor is signed for the person, the address and the filters with which it was made.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing
from django.db.models import Q, QuerySet
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from portal.lib.errors import BadInput

SALT = "freehold.api.cursor"


@functools.cache
def page_of(item: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The schema of one page of such items."""
    found: serializers.Serializer[Any] = inline_serializer(
        f"{item.__name__}Page",
        {
            "items": item(many=True),
            "next": serializers.URLField(allow_null=True, help_text="The next page; null at the end."),
        },
    )
    return found


def keyset_page(
    request: Request,
    rows: QuerySet[Any],
    item: type[serializers.Serializer[Any]],
    query: Mapping[str, Any],
    *,
    by: Sequence[str],
    context: Mapping[str, Any] | None = None,
) -> Response:
    """One page of rows by columns that are never null, the last of them unique: `("-created_at", "-pk")`.

    All ascend or all descend.
    """
    limit = query["limit"]
    after = read_cursor(request, query)
    if after is not None:
        rows = rows.filter(_behind(by, after))
    found = list(rows.order_by(*by)[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    position = [_value(last, name.lstrip("-")) for name in by] if last is not None else None
    return one_page(
        request, query, item(found[:limit], many=True, context=dict(context or {})).data, position
    )


def one_page(request: Request, query: Mapping[str, Any], items: Any, position: Any) -> Response:
    """The answer for a page behind whose last item `position` lies; None is the end."""
    if position is None:
        return Response({"items": items, "next": None})
    cursor = signing.dumps(position, salt=_salt(request, query))
    kept = {name: str(value) for name, value in request.query_params.items() if name != "cursor"}
    return Response(
        {
            "items": items,
            "next": f"{settings.PUBLIC_URL}{request.path}?{urlencode(kept | {'cursor': cursor})}",
        }
    )


def read_cursor(request: Request, query: Mapping[str, Any]) -> Any:
    """The position of the cursor, None without one. Raises BadInput for one of another list or not ours."""
    if not (text := query.get("cursor")):
        return None
    try:
        return signing.loads(text, salt=_salt(request, query))
    except signing.BadSignature as error:
        raise BadInput(
            "This cursor does not belong to this list.",
            hint="Follow `next` as it is, or begin again without a cursor.",
            fields={"cursor": "Not a cursor of this list with these filters."},
        ) from error


def _salt(request: Request, query: Mapping[str, Any]) -> str:
    filters = sorted((name, str(value)) for name, value in query.items() if name not in {"cursor", "limit"})
    return f"{SALT}:{request.user.pk}:{request.path}:{filters}"


def _behind(by: Sequence[str], after: Sequence[Any]) -> Q:
    """Rows that come after these values in the order `by`."""
    behind, equal = Q(), Q()
    for name, value in zip(by, after, strict=True):
        column = name.lstrip("-")
        behind |= equal & Q(**{f"{column}__{'lt' if name.startswith('-') else 'gt'}": value})
        equal &= Q(**{column: value})
    return behind


def _value(row: Any, path: str) -> Any:
    value = row
    for part in path.split("__"):
        value = getattr(value, part)
    return (
        value
        if isinstance(value, int | str)
        else value.hex
        if isinstance(value, uuid.UUID)
        else value.isoformat()
    )
