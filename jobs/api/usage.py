"""Usage by API: what jobs used, by day and by each kind; and jobs that left most of it idle."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster
from jobs.history.models import JobUse
from jobs.usage import figures, spans
from jobs.usage.counting import Amount, Question
from jobs.usage.figures import Day, Line, Usage
from jobs.usage.worst import ROWS, worst
from portal.lib import clock
from tenants.api.views import TenantApi, operation, read_query
from tenants.rights import Action, require
from tenants.scoping import get_visible


class SpanQuery(serializers.Serializer[Any]):
    """Which days."""

    since = serializers.DateField(required=False, help_text="First day, in UTC; else 30 days up to the last.")
    until = serializers.DateField(required=False, help_text="Last day, in UTC; else today. At most 366 days.")


class UsageQuery(SpanQuery):
    """Which days, of which cluster."""

    cluster = serializers.UUIDField(required=False, help_text="Only this one.")


class UsageAmountOut(serializers.Serializer[Amount]):
    """What some jobs used."""

    jobs = serializers.IntegerField()
    gpu_hours = serializers.FloatField()
    cpu_hours = serializers.FloatField()


class UsageDayOut(serializers.Serializer[Day]):
    """One day."""

    date = serializers.DateField()
    amount = UsageAmountOut()


class UsageLineOut(serializers.Serializer[Line]):
    """One cluster, member, account or partition."""

    name = serializers.CharField()
    detail = serializers.CharField(help_text="Of a partition its cluster.")
    amount = UsageAmountOut()


class UsageOut(serializers.Serializer[Usage]):
    """What the jobs of these days used. At most 20 lines of each kind, the most GPU-hours first."""

    since = serializers.DateField(source="span.first")
    until = serializers.DateField(source="span.last")
    total = UsageAmountOut()
    days = UsageDayOut(many=True)
    clusters = UsageLineOut(many=True, source="by.cluster")
    members = UsageLineOut(many=True, source="by.member")
    accounts = UsageLineOut(many=True, source="by.account")
    partitions = UsageLineOut(many=True, source="by.partition")
    cost_of_nodes = serializers.DecimalField(
        max_digits=14,
        decimal_places=2,
        source="spent.total",
        default=None,
        allow_null=True,
        help_text="Null for whom the role shows no money.",
    )


class IdleOut(serializers.Serializer[JobUse]):
    """A job that ended, with what it took of what it was given. Null: not gathered there."""

    job = serializers.UUIDField(source="job_id")
    name = serializers.CharField(source="job.name")
    label = serializers.CharField(source="job.label")  # type: ignore[assignment]  # the metaclass takes it away
    cluster = serializers.CharField(source="job.cluster.name")
    elapsed_seconds = serializers.IntegerField()
    cpus = serializers.IntegerField()
    cpu_percent = serializers.FloatField(allow_null=True)
    memory_percent = serializers.FloatField(allow_null=True)
    gpu_percent = serializers.FloatField(allow_null=True)
    idle_cpu_hours = serializers.FloatField()


class IdleListOut(serializers.Serializer[Any]):
    """The most idle CPU time first."""

    results = IdleOut(many=True)


class UsageApi(TenantApi):
    """/usage/"""

    @operation("usage", tag="jobs", answer=UsageOut, query=UsageQuery)
    def get(self, request: Request) -> Response:
        """GPU-hours by day, cluster, member, account and partition."""
        require(self.actor, Action.VIEW)
        asked = read_query(request, UsageQuery)
        key = asked.get("cluster")
        cluster = get_visible(Cluster.objects.all(), self.actor, key).pk if key else None
        found = figures.usage(Question(self.actor, _span(asked), clock.now(), cluster))
        return Response(UsageOut(found).data)


class IdleApi(TenantApi):
    """/usage/idle/"""

    @operation("usage_idle", tag="jobs", answer=IdleListOut, query=SpanQuery)
    def get(self, request: Request) -> Response:
        """The 20 jobs that left most CPU time idle."""
        require(self.actor, Action.VIEW)
        rows = worst(self.actor, _span(read_query(request, SpanQuery)))[:ROWS]
        return Response(IdleListOut({"results": list(rows)}).data)


def _span(asked: dict[str, Any]) -> spans.Span:
    span, trouble = spans.checked(asked.get("since"), asked.get("until"))
    if trouble:
        raise ValidationError({"until": [trouble]})
    return span
