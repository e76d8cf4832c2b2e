"""Volcano's queues and jobs in one cluster, as a worker saw them last."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster, WorkloadSnapshot
from clusters.stacks import require_volcano
from tenants.api.views import TenantApi, operation
from tenants.scoping import get_visible


class VolcanoQueueOut(serializers.Serializer[Any]):
    """One queue; amounts are Kubernetes quantities by resource."""

    name = serializers.CharField()
    state = serializers.CharField(help_text="Volcano's word: Open, Closed, Closing, Unknown.")
    weight = serializers.IntegerField()
    capability = serializers.DictField(child=serializers.CharField(), help_text="The most; empty: no limit.")
    deserved = serializers.DictField(child=serializers.CharField())
    allocated = serializers.DictField(child=serializers.CharField())
    running = serializers.IntegerField(help_text="Pod groups.")
    pending = serializers.IntegerField()
    inqueue = serializers.IntegerField()


class VolcanoTaskOut(serializers.Serializer[Any]):
    """Pods of one kind within a job."""

    name = serializers.CharField()
    replicas = serializers.IntegerField()


class VolcanoJobOut(serializers.Serializer[Any]):
    """One Volcano Job."""

    name = serializers.CharField()
    namespace = serializers.CharField()
    queue = serializers.CharField()
    phase = serializers.CharField(help_text="Volcano's word; empty before its controller saw the job.")
    min_available = serializers.IntegerField()
    tasks = VolcanoTaskOut(many=True)
    pending = serializers.IntegerField(help_text="Pods.")
    running = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    message = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)


class VolcanoOut(serializers.Serializer[WorkloadSnapshot]):
    """What was seen, and when."""

    seen_at = serializers.DateTimeField(allow_null=True, help_text="Null: not looked at yet.")
    unreachable_since = serializers.DateTimeField(allow_null=True)
    queues = VolcanoQueueOut(many=True)
    jobs = VolcanoJobOut(many=True, help_text="At most 500: what is not over first, then the newest.")
    jobs_all = serializers.IntegerField(help_text="How many there are.")


class VolcanoApi(TenantApi):
    """/clusters/<id>/volcano/"""

    @operation("cluster_volcano", tag="clusters", answer=VolcanoOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Volcano's queues and jobs; 404 where the stack has none."""
        row = get_visible(Cluster.objects.all(), self.actor, pk)
        require_volcano(row)
        seen = WorkloadSnapshot.objects.for_actor(self.actor).filter(cluster=row).first()
        return Response(VolcanoOut(seen or WorkloadSnapshot(cluster=row)).data)
