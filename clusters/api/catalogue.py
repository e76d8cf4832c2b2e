"""What may be ordered: offerings with their price, what is free, and what the tenant's quota leaves."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.models import Flavor, Offering, Site, Stack
from clusters.services import capacity
from clusters.services.order_checks import waiting_nodes
from clusters.services.parameters import fields_of
from clusters.stacks import of_site
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_query
from tenants.rights import Action, require


class SiteOut(serializers.Serializer[Site]):
    """Where."""

    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()


class ParameterOut(serializers.Serializer[Any]):
    """One thing that an order at the site may or must say."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes fields away
    kind = serializers.ChoiceField(choices=["string", "boolean", "number"])
    help = serializers.CharField()
    options = serializers.ListField(
        child=serializers.CharField(), help_text="All that may be chosen, if any."
    )
    minimum = serializers.IntegerField(allow_null=True)
    maximum = serializers.IntegerField(allow_null=True)
    needed = serializers.BooleanField(source="required")
    preset = serializers.CharField(source="default", help_text="What counts where nothing is said.")


class OfferingSiteOut(SiteOut):
    """Where, what can run there, and what an order there says beside its pools."""

    parameters = serializers.SerializerMethodField()
    stacks = serializers.SerializerMethodField(help_text="Those that a cluster there may have.")

    @extend_schema_field(ParameterOut(many=True))
    def get_parameters(self, row: Site) -> Any:
        """By the template of the site's control planes."""
        return ParameterOut(fields_of(row), many=True).data

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=Stack.choices)))
    def get_stacks(self, row: Site) -> list[str]:
        """In no order of preference."""
        return [stack.value for stack in of_site(row)]


class FlavorOut(serializers.Serializer[Flavor]):
    """A kind of node."""

    name = serializers.CharField()
    gpu_model = serializers.CharField(help_text="Empty: no GPUs.")
    gpu_count = serializers.IntegerField()
    cpus = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    network = serializers.CharField()


class CapacityOut(serializers.Serializer[Any]):
    """Machines of the flavor at the site."""

    total = serializers.IntegerField()
    free = serializers.IntegerField()
    seen_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the site's stock was seen last, where the site picks the machines; null: known now.",
    )


class OfferingOut(serializers.Serializer[Offering]):
    """What may be ordered."""

    id = serializers.UUIDField()
    site = OfferingSiteOut()
    flavor = FlavorOut()
    price_per_hour = serializers.DecimalField(max_digits=10, decimal_places=2, help_text="Of one node.")
    currency = serializers.CharField()
    capacity = serializers.SerializerMethodField(help_text="As of now, or of `seen_at`.")
    quota_left = serializers.SerializerMethodField(help_text="Nodes; null: no limit of the tenant's own.")

    @extend_schema_field(CapacityOut)
    def get_capacity(self, row: Offering) -> Any:
        """Zeros where there are no machines."""
        there = self.context["capacity"].get((row.site_id, row.flavor_id))
        return CapacityOut(there or capacity.Capacity(row.site_id, row.flavor_id)).data

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_quota_left(self, row: Offering) -> int | None:
        """Less what is held and what waits for approval."""
        left: dict[UUID, int] = self.context["quota_left"]
        return left.get(row.flavor_id)


class CatalogueApi(TenantApi):
    """/catalogue/"""

    @operation("catalogue_list", tag="orders", answer=page_of(OfferingOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """Offerings by site and flavor."""
        require(self.actor, Action.VIEW)
        tenant = self.actor.tenant
        assert tenant is not None  # noqa: S101  # the door has set it
        held, waiting = capacity.held_nodes(tenant), waiting_nodes(tenant)
        context = {
            "capacity": capacity.capacity(),
            "quota_left": {
                flavor: max(0, most - held.get(flavor, 0) - waiting.get(flavor, 0))
                for flavor, most in capacity.quotas(tenant).items()
            },
        }
        rows = Offering.objects.filter(active=True, site__active=True).select_related("site__facts", "flavor")
        by = ("site__name", "flavor__name", "pk")
        return keyset_page(request, rows, OfferingOut, read_query(request, PageQuery), by=by, context=context)


def offerings_of(pools: list[dict[str, Any]]) -> dict[UUID, Offering]:
    """Those that the pools name and that may be ordered now."""
    keys = {pool["offering"] for pool in pools}
    rows = Offering.objects.filter(pk__in=keys, active=True, site__active=True)
    return {row.pk: row for row in rows.select_related("site", "flavor")}


def unknown_offerings(
    pools: list[dict[str, Any]], offered: dict[UUID, Offering], *, at: str = "pools"
) -> dict[str, str]:
    """A message at each pool whose offering is not among these."""
    return {
        f"{at}.{number}.offering": _("There is no such offering.")
        for number, pool in enumerate(pools)
        if pool["offering"] not in offered
    }
