"""What several operations give: problems, people, pages."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

VersionHeader = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200],
    description="Differs when the answer would.",
)


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="urn:freehold:problem:..., for programs.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(required=False, help_text="What happened, and what was kept.")
    hint = serializers.CharField(required=False, help_text="What to do.")
    reason = serializers.CharField(required=False, help_text="CamelCase word of an outside system's trouble.")
    errors = serializers.DictField(  # type: ignore[assignment]  # the metaclass takes fields away
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="Messages by the path of the field; “” is the whole request.",
    )
    request_id = serializers.CharField(
        required=False, help_text="As in the header X-Request-ID and the audit."
    )


class Person(serializers.Serializer[Any]):
    """Somebody of this tenant."""

    id = serializers.UUIDField()
    name = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField())
    def get_name(self, row: Any) -> str:
        """As people know them."""
        return str(row)


class PageQuery(serializers.Serializer[Any]):
    """How much of a list, from where."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=50, help_text="Items at most.")
    cursor = serializers.CharField(
        required=False, max_length=1000, help_text="From `next` of the page before; opaque."
    )
