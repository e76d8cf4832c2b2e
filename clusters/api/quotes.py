"""What an order would cost and whether it fits, before it is sent."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.api.catalogue import offerings_of, unknown_offerings
from clusters.services.quotes import quote
from portal.lib.errors import BadInput
from tenants.api.views import TenantApi, operation, read_body
from tenants.rights import Action, require


class QuotePoolIn(serializers.Serializer[Any]):
    """Nodes of one offering."""

    offering = serializers.UUIDField()
    count = serializers.IntegerField(min_value=1, max_value=64)


class QuoteIn(serializers.Serializer[Any]):
    """What an order would hold."""

    pools = serializers.ListField(child=QuotePoolIn(), min_length=1, max_length=8)


class QuoteLineOut(serializers.Serializer[Any]):
    """Nodes of one offering."""

    flavor = serializers.CharField(source="flavor.name")
    count = serializers.IntegerField()
    price_per_hour = serializers.DecimalField(max_digits=14, decimal_places=2, help_text="Of all of them.")
    free = serializers.IntegerField(help_text="Machines that are free now.")
    total = serializers.IntegerField()
    quota_left = serializers.IntegerField(allow_null=True, help_text="Null: no limit of the tenant's own.")
    is_free = serializers.BooleanField(help_text="Enough are free now.")
    is_allowed = serializers.BooleanField(help_text="Within the quota.")


class QuoteOut(serializers.Serializer[Any]):
    """What it would cost, and whether it fits now."""

    currency = serializers.CharField()
    price_per_hour = serializers.DecimalField(max_digits=14, decimal_places=2)
    price_per_month = serializers.DecimalField(max_digits=16, decimal_places=2, help_text="Of 730 hours.")
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    cpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    lines = QuoteLineOut(many=True)


class QuoteApi(TenantApi):
    """/orders/quote/"""

    @operation("order_quote", tag="orders", answer=QuoteOut, body=QuoteIn)
    def post(self, request: Request) -> Response:
        """What an order would cost and whether it fits now. Nothing is stored."""
        require(self.actor, Action.ORDER)
        tenant = self.actor.tenant
        assert tenant is not None  # noqa: S101  # the door has set it
        pools = read_body(request, QuoteIn)["pools"]
        offered = offerings_of(pools)
        wrong = unknown_offerings(pools, offered)
        if len({row.currency for row in offered.values()}) > 1:
            wrong["pools"] = _("These offerings are in different currencies; ask for them one by one.")
        if wrong:
            raise BadInput(fields=wrong)
        return Response(QuoteOut(quote(tenant, [(offered[p["offering"]], p["count"]) for p in pools])).data)
