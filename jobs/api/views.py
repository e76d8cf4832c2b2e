"""Saved views by API: one's own lists of jobs under a name."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster
from jobs.models import SavedView
from jobs.services import saved_views as service
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, require
from tenants.scoping import get_visible


class ViewOut(serializers.Serializer[SavedView]):
    """A list of jobs as its owner likes to see it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    cluster = serializers.UUIDField(
        source="cluster_id", allow_null=True, help_text="Whose queue it is of; null: the list of jobs."
    )
    query = serializers.CharField(help_text="Filters, order and columns as in the address of the page.")
    path = serializers.SerializerMethodField(help_text="Where it opens in the browser.")
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.CharField())
    def get_path(self, row: SavedView) -> str:
        """Of this portal."""
        return service.address_of(self.context["actor"], row)


class ViewIn(serializers.Serializer[Any]):
    """What to keep. A view of the same name is replaced."""

    name = serializers.CharField(max_length=service.LONGEST_NAME)
    query = serializers.CharField(
        max_length=1000, allow_blank=True, help_text="What a list does not read is left out."
    )
    cluster = serializers.UUIDField(required=False, allow_null=True)


class ViewName(serializers.Serializer[Any]):
    """Another name."""

    name = serializers.CharField(max_length=service.LONGEST_NAME)


class ViewsApi(TenantApi):
    """/views/"""

    @operation("views_list", tag="jobs", answer=page_of(ViewOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """Your saved views."""
        require(self.actor, Action.VIEW)
        query = read_query(request, PageQuery)
        rows = service.own_views(self.actor)
        return keyset_page(
            request, rows, ViewOut, query, by=("created_at", "pk"), context={"actor": self.actor}
        )

    @operation("view_save", tag="jobs", answer=ViewOut, status=201, body=ViewIn)
    def post(self, request: Request) -> Response:
        """Keep a list under a name."""
        require(self.actor, Action.VIEW)
        asked = read_body(request, ViewIn)
        key = asked.get("cluster")
        cluster = get_visible(Cluster.objects.all(), self.actor, key) if key else None
        view = service.save_view(actor=self.actor, name=asked["name"], query=asked["query"], cluster=cluster)
        return Response(ViewOut(view, context={"actor": self.actor}).data, status=201)


class ViewApi(TenantApi):
    """/views/<id>/"""

    @operation("view_rename", tag="jobs", answer=ViewOut, body=ViewName)
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Another name."""
        view = service.own_view(self.actor, pk)
        asked = read_body(request, ViewName)
        renamed = service.rename_view(actor=self.actor, view=view, name=asked["name"])
        return Response(ViewOut(renamed, context={"actor": self.actor}).data)

    @operation("view_delete", tag="jobs", status=204)
    def delete(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Forget it; the jobs in it stay as they are."""
        service.delete_view(actor=self.actor, view=service.own_view(self.actor, pk))
        return Response(status=204)
