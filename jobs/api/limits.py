"""Limits of members by API."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Cluster, SlurmIdentity
from clusters.stacks import require_slurm
from jobs.limits import service
from jobs.limits.forms import MOST
from jobs.limits.models import FIELDS, SlurmLimit
from tenants.api.serializers import Person
from tenants.api.views import TenantApi, operation, read_body
from tenants.rights import Action, require
from tenants.scoping import get_visible

STATES = "wanted, set, or failed: then it is tried again."


def _number(text: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        allow_null=True, min_value=0, max_value=MOST, help_text=text, required=False
    )


class LimitIn(serializers.Serializer[Any]):
    """What a member may use at once. Null, or left out: no limit."""

    running_jobs = _number("Jobs that run at once.")
    submitted_jobs = _number("Jobs that wait or run.")
    gpus = _number("Of all the member's jobs together.")
    wall_minutes = _number("Of one job.")


class MemberLimitOut(serializers.Serializer[SlurmIdentity]):
    """A member's account with its limits. Null: none."""

    membership = serializers.UUIDField(source="membership_id", help_text="For the address of the limits.")
    name = serializers.CharField(help_text="The account in the cluster.")
    member = Person(source="membership.user")
    running_jobs = serializers.IntegerField(source="limit.running_jobs", default=None, allow_null=True)
    submitted_jobs = serializers.IntegerField(source="limit.submitted_jobs", default=None, allow_null=True)
    gpus = serializers.IntegerField(source="limit.gpus", default=None, allow_null=True)
    wall_minutes = serializers.IntegerField(source="limit.wall_minutes", default=None, allow_null=True)
    state = serializers.CharField(source="limit.state", default=None, allow_null=True, help_text=STATES)


class LimitsOut(serializers.Serializer[Any]):
    """Every member with an account."""

    results = MemberLimitOut(many=True)


class SetLimitOut(serializers.Serializer[SlurmLimit]):
    """What is wanted now; Slurm is told next."""

    running_jobs = serializers.IntegerField(allow_null=True)
    submitted_jobs = serializers.IntegerField(allow_null=True)
    gpus = serializers.IntegerField(allow_null=True)
    wall_minutes = serializers.IntegerField(allow_null=True)
    state = serializers.CharField(help_text=STATES)


class LimitsApi(TenantApi):
    """/clusters/<id>/limits/"""

    @operation("limits_list", tag="jobs", answer=LimitsOut)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """What each member may use at once, and whether Slurm has it."""
        cluster = get_visible(Cluster.objects.all(), self.actor, pk)
        require_slurm(cluster)
        require(self.actor, Action.VIEW)
        return Response(LimitsOut({"results": list(service.members_of(self.actor, cluster))}).data)


class LimitApi(TenantApi):
    """/clusters/<id>/limits/<member>/"""

    @operation("limits_set", tag="jobs", answer=SetLimitOut, body=LimitIn)
    def patch(self, request: Request, pk: uuid.UUID, member: uuid.UUID) -> Response:
        """Make these the limits; all of them."""
        cluster = get_visible(Cluster.objects.all(), self.actor, pk)
        require_slurm(cluster)
        asked = read_body(request, LimitIn)
        wanted = {name: asked.get(name) for name in FIELDS}
        row = service.set_limits(actor=self.actor, cluster=cluster, member=member, limits=wanted)
        return Response(SetLimitOut(row).data)
