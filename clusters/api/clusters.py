"""Clusters of a tenant: what they are, how far they are, and their end."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import live, told
from clusters.api.catalogue import SiteOut
from clusters.api.orders import OrderDetail
from clusters.models import Cluster, NodePool, Phase, Stack
from clusters.services.clusters import terminate_cluster
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.versions import versioned
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, require
from tenants.scoping import get_visible

CLUSTERS = Cluster.objects.select_related("site", "slurm", "tenant").prefetch_related("pools__flavor")


class PoolOut(serializers.Serializer[NodePool]):
    """Nodes of one flavor; in Slurm one partition."""

    name = serializers.CharField()
    flavor = serializers.CharField(source="flavor.name")
    count = serializers.IntegerField(help_text="Nodes wanted.")
    price_per_hour = serializers.DecimalField(max_digits=12, decimal_places=2, help_text="Of one node.")


class ClusterOut(serializers.Serializer[Cluster]):
    """A cluster as it is wanted and as it was last seen."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    external_name = serializers.CharField(help_text="Under which the systems outside know it.")
    site = SiteOut()
    stack = serializers.ChoiceField(choices=Stack.choices)
    phase = serializers.ChoiceField(choices=Phase.choices)
    reason = serializers.CharField(help_text="CamelCase; empty if there is none.")
    message = serializers.SerializerMethodField(help_text="In a sentence; the steps say more.")
    paused = serializers.BooleanField()
    pools = PoolOut(many=True)
    created_at = serializers.DateTimeField()
    ready_at = serializers.DateTimeField(allow_null=True, help_text="First seen ready.")
    terminate_at = serializers.DateTimeField(allow_null=True, help_text="Removal is scheduled for then.")
    deleted_at = serializers.DateTimeField(allow_null=True)
    observed_at = serializers.DateTimeField(allow_null=True, help_text="End of the last whole pass.")

    def get_message(self, row: Cluster) -> str:
        """Without what is the provider's."""
        return told.raw("", row.reason, row.message)


class ClusterDetail(ClusterOut):
    """With its nodes counted."""

    nodes_seen = serializers.SerializerMethodField()
    nodes_available = serializers.SerializerMethodField(help_text="Neither down nor drained.")

    @extend_schema_field(serializers.IntegerField())
    def get_nodes_seen(self, row: Cluster) -> int:  # noqa: ARG002  # the signature is the framework's
        """As last observed."""
        return int(self.context["seen"])

    @extend_schema_field(serializers.IntegerField())
    def get_nodes_available(self, row: Cluster) -> int:  # noqa: ARG002
        """As last observed."""
        return int(self.context["available"])


class ClusterQuery(PageQuery):
    """Which clusters."""

    removed = serializers.BooleanField(default=False, help_text="Also those that were removed.")


class TerminateIn(serializers.Serializer[Any]):
    """The end of a cluster."""

    confirm = serializers.CharField(max_length=40, help_text="The cluster's name, to confirm.")
    at_once = serializers.BooleanField(default=False, help_text="Without the grace of 24 hours.")


class ClustersApi(TenantApi):
    """/clusters/"""

    @operation("clusters_list", tag="clusters", answer=page_of(ClusterOut), query=ClusterQuery)
    def get(self, request: Request) -> Response:
        """Clusters, the newest first."""
        require(self.actor, Action.VIEW)
        query = read_query(request, ClusterQuery)
        rows = CLUSTERS.for_actor(self.actor)
        if not query["removed"]:
            rows = rows.exclude(phase=Phase.DELETED)
        return keyset_page(request, rows, ClusterOut, query, by=("-created_at", "-pk"))


class ClusterApi(TenantApi):
    """/clusters/<id>/"""

    @operation("cluster", tag="clusters", answer=ClusterDetail, versioned=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One cluster."""
        row = get_visible(CLUSTERS.all(), self.actor, pk)
        slurm = getattr(row, "slurm", None)
        return versioned(
            request,
            self.actor,
            row,
            *live.of_cluster(row),
            answer=lambda: ClusterDetail(row, context=_nodes(row)).data,
            also=slurm.observed_at if slurm else None,  # nodes are looked at with it
        )


class TerminateApi(TenantApi):
    """/clusters/<id>/terminate/"""

    @operation("cluster_terminate", tag="clusters", answer=OrderDetail, status=201, body=TerminateIn)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """End a cluster for good, in 24 hours or at once. Until then its order can be cancelled."""
        row = get_visible(CLUSTERS.all(), self.actor, pk, Action.TERMINATE)
        asked = read_body(request, TerminateIn)
        order = terminate_cluster(
            actor=self.actor, cluster=row, typed_name=asked["confirm"], at_once=asked["at_once"]
        )
        return Response(OrderDetail(order).data, status=201)


def _nodes(row: Cluster) -> dict[str, int]:
    return row.nodes.aggregate(seen=Count("pk"), available=Count("pk", filter=Q(available=True)))
