"""QOS and accounts of a cluster by API."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster
from jobs.rules.overview import overview_of
from jobs.rules.pages import require_accounting
from portal.lib.types import JSONDict
from tenants.api.views import TenantApi, operation
from tenants.rights import Action, require
from tenants.scoping import get_visible

BOUNDS = (
    "Limits by name, without those that there are none of: wall_minutes, running, submitted, all_running,"
    " per_job, per_user, together, minutes and others. Amounts are by resource: cpu, mem (MiB), node."
)


class NowOut(serializers.Serializer[Any]):
    """Jobs as last seen; each task of an array counts."""

    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    members = serializers.SerializerMethodField(help_text="Whose they are: how many.")

    def get_members(self, now: Any) -> int:
        """How many."""
        return len(now.members)


class QosOut(serializers.Serializer[Any]):
    """One QOS."""

    name = serializers.CharField(source="qos.name")
    description = serializers.CharField(source="qos.description")
    priority = serializers.IntegerField(allow_null=True)
    preempts = serializers.ListField(
        source="qos.preempts", child=serializers.CharField(), help_text="Whose jobs give way to it."
    )
    flags = serializers.ListField(
        source="qos.flags", child=serializers.CharField(), help_text="In Slurm's words."
    )
    limits = serializers.SerializerMethodField(help_text=BOUNDS)
    limits_in_words = serializers.ListField(source="limits", child=serializers.CharField())
    partitions = serializers.ListField(child=serializers.CharField(), help_text="All whose jobs it limits.")
    is_mine = serializers.BooleanField(help_text="You may ask for it.")
    is_default = serializers.BooleanField(help_text="Yours where you ask for none.")
    jobs = NowOut(source="now")

    def get_limits(self, one: Any) -> dict[str, Any]:
        """By name."""
        found: dict[str, Any] = one.facts
        return found


class BudgetOut(serializers.Serializer[Any]):
    """Minutes of one resource that may be used in all."""

    resource = serializers.CharField(help_text="cpu, gres/gpu ...")
    limit_minutes = serializers.IntegerField(source="limit")
    used_minutes = serializers.IntegerField(
        source="used", allow_null=True, help_text="As Slurm counts it now; null: its API does not tell."
    )
    left_minutes = serializers.IntegerField(source="left", allow_null=True)


class AccountOut(serializers.Serializer[Any]):
    """One account."""

    name = serializers.CharField(source="rule.account")
    parent = serializers.CharField(source="rule.parent")  # type: ignore[assignment]  # taken away again
    limits = serializers.SerializerMethodField(help_text=BOUNDS)
    limits_in_words = serializers.ListField(source="limits", child=serializers.CharField())
    budgets = BudgetOut(many=True)
    members = serializers.IntegerField(help_text="Who may charge to it: how many.")
    is_mine = serializers.BooleanField(help_text="You may charge to it.")
    jobs = NowOut(source="now")

    def get_limits(self, one: Any) -> dict[str, Any]:
        """By name."""
        found: dict[str, Any] = one.facts
        return found


class RulesOut(serializers.Serializer[Any]):
    """What accounting allows in a cluster."""

    qos = QosOut(many=True, help_text="The highest priority first.")
    accounts = AccountOut(many=True)
    holds_to_limits = serializers.BooleanField(
        allow_null=True,
        help_text="Slurm refuses, or keeps back, what is over a limit; null: not known.",
    )
    observed_at = serializers.DateTimeField(allow_null=True, help_text="Null: not read yet.")


class QosApi(TenantApi):
    """/clusters/<id>/qos/"""

    @operation("qos_list", tag="jobs", answer=RulesOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Each QOS and each account with its limits, who uses it now, and what is left of budgets."""
        cluster = get_visible(Cluster.objects.select_related("site"), self.actor, pk)
        require(self.actor, Action.VIEW)
        require_accounting(cluster)
        found = overview_of(self.actor, cluster)
        nothing: JSONDict = {"qos": [], "accounts": [], "holds_to_limits": None, "observed_at": None}
        return Response(RulesOut(found or nothing).data)
