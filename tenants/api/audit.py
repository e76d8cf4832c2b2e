"""The tenant's own audit trail."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_query
from tenants.models import AuditEvent
from tenants.rights import Action, require
from tenants.trail import Filter


class AuditOut(serializers.Serializer[AuditEvent]):
    """One recorded act."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    verb = serializers.CharField(help_text="Such as order.approved.")
    actor = serializers.CharField(
        source="actor_label", help_text="Name, issuer and subject as they were then."
    )
    actor_kind = serializers.ChoiceField(choices=["person", "operator", "system", "anonymous"])
    actor_id = serializers.UUIDField(source="actor_user_id", allow_null=True)
    via = serializers.ChoiceField(choices=["web", "admin", "api", "worker", "command"])
    target_type = serializers.CharField()
    target_id = serializers.CharField()
    target = serializers.CharField(source="target_label")
    detail = serializers.DictField(child=serializers.JSONField(allow_null=True))
    address = serializers.IPAddressField(allow_null=True)
    request_id = serializers.CharField()


class AuditQuery(PageQuery):
    """Which events: the page's filters, with moments in place of days."""

    text = serializers.CharField(
        required=False, max_length=100, help_text="In the actor, the thing or the verb."
    )
    who = serializers.CharField(required=False, max_length=100, help_text="In name, issuer or subject.")
    verb = serializers.CharField(
        required=False, max_length=60, help_text="order.approved, or an area: order."
    )
    target = serializers.CharField(
        required=False, max_length=100, help_text="In the thing's name, or its id."
    )
    since = serializers.DateTimeField(required=False, help_text="At this moment or later.")
    until = serializers.DateTimeField(required=False, help_text="Before this moment.")


class AuditApi(TenantApi):
    """/audit/"""

    @operation("audit_list", tag="audit", answer=page_of(AuditOut), query=AuditQuery)
    def get(self, request: Request) -> Response:
        """Who did what, the newest first."""
        require(self.actor, Action.READ_AUDIT)
        query = read_query(request, AuditQuery)
        wanted = {name: query[name] for name in ("who", "verb", "target") if name in query}
        rows = Filter(q=query.get("text", ""), **wanted).of(AuditEvent.objects.for_actor(self.actor))
        if since := query.get("since"):
            rows = rows.filter(at__gte=since)
        if until := query.get("until"):
            rows = rows.filter(at__lt=until)
        return keyset_page(request, rows, AuditOut, query, by=("-pk",))
