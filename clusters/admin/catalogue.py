"""Sites with their capacity, machines, flavors, offerings and quotas, to look at."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters import selectors
from clusters.admin.pages import PageAdmin
from clusters.models import Flavor, Machine, Offering, Quota, Site
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.operations import OperationsAdmin, actor_of, operations


class CatalogueAdmin(OperationsAdmin):
    """What belongs to the provider: every operator sees all of it, and no tenant's audit trail names it."""

    notes_looks = False

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """All rows, for operators."""
        actor_of(request)
        rows = self.model._default_manager.all()  # noqa: SLF001  # the name is Django's API
        return rows.order_by(*(self.get_ordering(request) or ("pk",)))


@admin.register(Site, site=operations)
class SiteAdmin(CatalogueAdmin, PageAdmin):
    """Sites; one shows per flavor how many machines are in use, being wiped, broken and free."""

    page = "admin/clusters/site.html"
    list_display = ("name", "slug", "capacity", "task_queue", "active")
    search_fields = ("name", "slug")
    ordering = ("name",)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With the capacity of all sites, counted once."""
        found = super().get_changelist_instance(request)
        texts = selectors.capacity_texts()
        for row in found.result_list:
            row.capacity_text = texts.get(row.pk, gettext("no machines"))
        return found

    @admin.display(description=_("Free machines"))
    def capacity(self, row: Any) -> str:
        """Free of all, per flavor."""
        return str(row.capacity_text)

    def page_context(self, actor: Actor, row: Site) -> JSONDict:  # noqa: ARG002  # shown to all operators alike
        """A bar per flavor."""
        return {"bars": selectors.capacity_bars(row), "facts": getattr(row, "facts", None)}


@admin.register(Machine, site=operations)
class MachineAdmin(CatalogueAdmin):
    """Machines with the cluster that has them."""

    list_display = ("name", "site", "flavor", "status", "cluster", "wiped_at")
    list_filter = ("state", "site", "flavor")
    search_fields = ("name",)
    list_select_related = ("site", "flavor")
    ordering = ("site__name", "name")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """With the live allocation."""
        return selectors.with_holder(super().get_queryset(request))

    @admin.display(description=_("State"), ordering="state")
    def status(self, row: Machine) -> str:
        """In words."""
        return row.get_state_display()

    @admin.display(description=_("In cluster"))
    def cluster(self, row: Any) -> str:
        """Tenant and cluster that hold it."""
        return row.holder or "-"


@admin.register(Flavor, site=operations)
class FlavorAdmin(CatalogueAdmin):
    """Kinds of nodes."""

    list_display = ("name", "gpu_model", "gpu_count", "cpus", "memory_mib", "network")
    ordering = ("name",)


@admin.register(Offering, site=operations)
class OfferingAdmin(CatalogueAdmin):
    """What may be ordered, and for how much."""

    list_display = ("flavor", "site", "price_per_hour", "currency", "active")
    list_filter = ("site", "active")
    list_select_related = ("site", "flavor")
    ordering = ("site__name", "flavor__name")


@admin.register(Quota, site=operations)
class QuotaAdmin(OperationsAdmin):
    """The most that tenants may hold."""

    list_display = ("tenant", "flavor", "nodes")
    list_filter = ("tenant",)
    list_select_related = ("tenant", "flavor")
    ordering = ("tenant__name", "flavor__name")
