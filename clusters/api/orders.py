"""Orders of a tenant. Decisions are made by operators, in the operators' area, and not here."""

from __future__ import annotations

import uuid
from typing import Any, cast

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import live, plans, touched
from clusters.api.catalogue import SiteOut, offerings_of, unknown_offerings
from clusters.models import OPEN_STATES, Order, OrderKind, OrderLine, OrderState, Site, Stack
from clusters.services.order_checks import OrderRequest, PoolRequest
from clusters.services.orders import cancel_order, submit_order
from portal.lib.errors import BadInput
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.api.keys import once
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery, Person
from tenants.api.versions import versioned
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, require
from tenants.scoping import get_visible

LONGEST_NAME = 200  # the service counts and tells its own, shorter limits
ORDERS = Order.objects.select_related("site", "created_by", "decided_by").prefetch_related("lines__flavor")


class OrderLineOut(serializers.Serializer[OrderLine]):
    """One pool of the order."""

    pool = serializers.CharField()
    flavor = serializers.CharField(source="flavor.name")
    count = serializers.IntegerField(help_text="Nodes asked for; 0: the pool is to go.")
    count_before = serializers.IntegerField(help_text="Nodes before a resize.")
    price_per_hour = serializers.DecimalField(max_digits=12, decimal_places=2, help_text="Of one node.")


class PlanNumbersOut(serializers.Serializer[Any]):
    """How many things outside one step touches."""

    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    removed = serializers.IntegerField()


class PlanStepOut(serializers.Serializer[Any]):
    """What one step will make."""

    name = serializers.CharField()
    component = serializers.CharField()
    needs = serializers.ListField(child=serializers.CharField())
    makes = serializers.ListField(child=serializers.CharField(), help_text="What you may know of it by name.")
    changes = PlanNumbersOut(help_text="Things outside, by what becomes of them.")


class OrderOut(serializers.Serializer[Order]):
    """A request for a cluster, or for its end."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=OrderKind.choices)
    state = serializers.ChoiceField(choices=OrderState.choices)
    site = SiteOut()
    stack = serializers.ChoiceField(choices=Stack.choices)
    cluster_name = serializers.CharField()
    cluster = serializers.UUIDField(source="cluster_id", allow_null=True, help_text="Once approved.")
    justification = serializers.CharField()
    parameters = serializers.DictField(
        child=serializers.CharField(), help_text="What the site asked for, by name, as agreed."
    )
    price_per_hour = serializers.DecimalField(max_digits=12, decimal_places=2, help_text="As agreed.")
    currency = serializers.CharField()
    pools = OrderLineOut(source="lines", many=True)
    created_by = Person()
    created_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_by = Person(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    decision_note = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)


class OrderDetail(OrderOut):
    """With its plan."""

    plan = serializers.SerializerMethodField(help_text="Empty until it is made.")

    @extend_schema_field(PlanStepOut(many=True))
    def get_plan(self, row: Order) -> list[JSONDict]:
        """What each step will make."""
        steps: list[JSONDict] = (row.plan or {}).get("steps", [])
        return [
            {
                **{name: step[name] for name in ("name", "component", "needs")},
                "makes": plans.readable(step, "makes"),
                "changes": {
                    f"{action.rstrip('e')}ed": count for action, count in touched.numbers(step).items()
                },
            }
            for step in steps
        ]


class PoolIn(serializers.Serializer[Any]):
    """Nodes of one offering."""

    name = serializers.CharField(max_length=LONGEST_NAME, help_text="Also of the Slurm partition.")
    offering = serializers.UUIDField()
    count = serializers.IntegerField(min_value=1, max_value=64)


class OrderIn(serializers.Serializer[Any]):
    """A new cluster."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    site = serializers.UUIDField()
    stack = serializers.ChoiceField(choices=Stack.choices, default=Stack.SLURM)
    pools = serializers.ListField(child=PoolIn(), min_length=1, max_length=8)
    justification = serializers.CharField(required=False, allow_blank=True, default="", max_length=2000)
    parameters = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=500),
        required=False,
        default=dict,
        help_text="What the site asks for, by name; see the catalogue.",
    )


class OrderQuery(PageQuery):
    """Which orders."""

    state = serializers.ChoiceField(
        choices=["open", "ended", *OrderState.values], required=False, help_text="One state, or a group."
    )


class OrdersApi(TenantApi):
    """/orders/"""

    @operation("orders_list", tag="orders", answer=page_of(OrderOut), query=OrderQuery)
    def get(self, request: Request) -> Response:
        """Orders, the newest first."""
        require(self.actor, Action.VIEW)
        query = read_query(request, OrderQuery)
        rows = ORDERS.for_actor(self.actor)
        state = query.get("state")
        if state == "open":
            rows = rows.filter(state__in=OPEN_STATES)
        elif state == "ended":
            rows = rows.exclude(state__in=OPEN_STATES)
        elif state:
            rows = rows.filter(state=state)
        return keyset_page(request, rows, OrderOut, query, by=("-created_at", "-pk"))

    @operation("order_create", tag="orders", answer=OrderDetail, status=201, body=OrderIn, keyed=True)
    def post(self, request: Request) -> Response:
        """Ask for a cluster. An operator decides; the same key gives the same order."""
        require(self.actor, Action.ORDER)
        asked = read_body(request, OrderIn)
        with once(request, self.actor) as key:
            order = submit_order(actor=self.actor, key=key, request=order_request(asked))
        return order_answer(self.actor, order)


class OrderApi(TenantApi):
    """/orders/<id>/"""

    @operation("order", tag="orders", answer=OrderDetail, versioned=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """One order."""
        row = get_visible(ORDERS.all(), self.actor, pk)
        return versioned(request, self.actor, row, *live.of_order(row), answer=lambda: OrderDetail(row).data)


class OrderCancelApi(TenantApi):
    """/orders/<id>/cancel/"""

    @operation("order_cancel", tag="orders", answer=OrderDetail)
    def post(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002
        """Take an order back; what was built of it is removed."""
        row = get_visible(ORDERS.all(), self.actor, pk, Action.ORDER)
        cancel_order(actor=self.actor, order=row)
        return Response(OrderDetail(get_visible(ORDERS.all(), self.actor, pk)).data)


def order_answer(actor: Actor, order: Order) -> Response:
    """201 with the order that was made, and its address."""
    found = get_visible(ORDERS.all(), actor, order.pk)
    response = Response(OrderDetail(found).data, status=201)
    response["Location"] = settings.PUBLIC_URL + reverse(
        "api-order", kwargs={"tenant": found.tenant.slug, "pk": found.pk}
    )
    return response


def order_request(asked: dict[str, Any]) -> OrderRequest:
    """The service's request. Raises BadInput for a site or an offering that does not exist."""
    site = Site.objects.select_related("facts").filter(pk=asked["site"]).first()
    offered = offerings_of(asked["pools"])
    wrong = {} if site else {"site": _("There is no such site.")}
    if wrong := wrong | unknown_offerings(asked["pools"], offered):
        raise BadInput(fields=wrong)
    return OrderRequest(
        site=cast(Site, site),
        name=asked["name"],
        pools=tuple(
            PoolRequest(pool["name"], offered[pool["offering"]], pool["count"]) for pool in asked["pools"]
        ),
        stack=asked["stack"],
        justification=asked["justification"],
        parameters=asked["parameters"],
    )
