"""What is inside one cluster: nodes, provisioning steps and what happened to them, and its Slurm."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import OuterRef, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import told
from clusters.models import Cluster, Node, SlurmEndpoint, SlurmIdentity, StepEvent, StepState, StepStatus
from portal.lib.errors import NotVisible
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_query
from tenants.scoping import get_visible


class NodeOut(serializers.Serializer[Node]):
    """A node as Slurm last told of it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    partitions = serializers.ListField(child=serializers.CharField())
    state = serializers.CharField(help_text="Slurm's word with its flags, such as IDLE+DRAIN.")
    available = serializers.BooleanField(help_text="Neither down nor drained.")
    reason = serializers.CharField()
    cpus = serializers.IntegerField()
    cpus_used = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    gpus = serializers.IntegerField()
    gpus_used = serializers.IntegerField()
    observed_at = serializers.DateTimeField()


class StepOut(serializers.Serializer[StepState]):
    """How far one provisioning step is."""

    name = serializers.CharField()
    position = serializers.IntegerField()
    component = serializers.CharField(help_text="Who provides it.")
    status = serializers.ChoiceField(choices=StepStatus.choices)
    reason = serializers.CharField(help_text="CamelCase; empty if there is none.")
    message = serializers.SerializerMethodField(help_text="What you may know of it.")
    since = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ready_at = serializers.DateTimeField(allow_null=True)
    deadline_at = serializers.DateTimeField(allow_null=True)
    observed_at = serializers.DateTimeField(allow_null=True)

    def get_message(self, row: StepState) -> str:
        """Without what is the provider's."""
        return told.raw(row.component, row.reason, row.message)


class StepEventOut(serializers.Serializer[StepEvent]):
    """One change of a step."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    step = serializers.CharField()
    status = serializers.ChoiceField(choices=StepStatus.choices)
    reason = serializers.CharField()
    message = serializers.SerializerMethodField(help_text="What you may know of it.")

    def get_message(self, row: Any) -> str:
        """Without what is the provider's."""
        return told.raw(row.component, row.reason, row.message)


class SlurmOut(serializers.Serializer[Any]):
    """The cluster's Slurm as last seen. It is reached through this API only, as you."""

    api_version = serializers.CharField(help_text="Of slurmrestd; empty until it was asked.")
    release = serializers.CharField()
    cluster_name = serializers.CharField(help_text="ClusterName in Slurm.")
    account = serializers.CharField(allow_null=True, help_text="Your name there; null: your role has none.")
    uid = serializers.IntegerField(allow_null=True)
    jobs_pending = serializers.IntegerField()
    jobs_running = serializers.IntegerField()
    observed_at = serializers.DateTimeField(allow_null=True)
    unreachable_since = serializers.DateTimeField(allow_null=True)


class NodesApi(TenantApi):
    """/clusters/<id>/nodes/"""

    @operation("cluster_nodes", tag="clusters", answer=page_of(NodeOut), query=PageQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Nodes by name."""
        row = get_visible(Cluster.objects.all(), self.actor, pk)
        rows = Node.objects.for_actor(self.actor).filter(cluster=row)
        return keyset_page(request, rows, NodeOut, read_query(request, PageQuery), by=("name", "pk"))


class StepsApi(TenantApi):
    """/clusters/<id>/steps/"""

    @operation("cluster_steps", tag="clusters", answer=page_of(StepOut), query=PageQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Provisioning steps in the order of the plan."""
        row = get_visible(Cluster.objects.all(), self.actor, pk)
        rows = StepState.objects.for_actor(self.actor).filter(cluster=row)
        return keyset_page(request, rows, StepOut, read_query(request, PageQuery), by=("position", "pk"))


class StepEventsApi(TenantApi):
    """/clusters/<id>/events/"""

    @operation("cluster_events", tag="clusters", answer=page_of(StepEventOut), query=PageQuery)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """What happened to the steps, the newest first."""
        row = get_visible(Cluster.objects.all(), self.actor, pk)
        by = StepState.objects.for_actor(self.actor).filter(
            cluster=OuterRef("cluster"), name=OuterRef("step")
        )
        component = Coalesce(Subquery(by.values("component")[:1]), Value(""))
        rows = StepEvent.objects.for_actor(self.actor).filter(cluster=row).annotate(component=component)
        return keyset_page(request, rows, StepEventOut, read_query(request, PageQuery), by=("-pk",))


class SlurmApi(TenantApi):
    """/clusters/<id>/slurm/"""

    @operation("cluster_slurm", tag="clusters", answer=SlurmOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Facts of the cluster's Slurm; 404 where it has none."""
        row = get_visible(Cluster.objects.all(), self.actor, pk)
        found = SlurmEndpoint.objects.for_actor(self.actor).filter(cluster=row).first()
        if found is None:
            raise NotVisible(_("This cluster has no Slurm."))
        mine = (
            SlurmIdentity.objects.for_actor(self.actor)
            .filter(cluster=row, membership__user=self.actor.user, active=True)
            .first()
        )
        names = ("api_version", "release", "jobs_pending", "jobs_running", "observed_at", "unreachable_since")
        facts = {
            **{name: getattr(found, name) for name in names},
            "cluster_name": row.external_name,
            "account": mine.name if mine else None,
            "uid": mine.uid if mine else None,
        }
        return Response(SlurmOut(facts).data)
