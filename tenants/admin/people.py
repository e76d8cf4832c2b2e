"""Tenants and people, each with a page from which an operator suspends and resumes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.models import Membership, Tenant, User
from tenants.operations import badge, operations
from tenants.pages import PageAdmin
from tenants.services import access

MOST_SHOWN = 200


def suspend_tenant(actor: Actor, row: Tenant, sent: Mapping[str, str]) -> str:
    """The button of that name."""
    access.suspend_tenant(actor=actor, tenant=row, reason=sent.get("note", ""))
    return _("%(row)s is suspended. Nobody enters it; its clusters and jobs go on.") % {"row": row}


def resume_tenant(actor: Actor, row: Tenant, sent: Mapping[str, str]) -> str:
    """The button of that name."""
    access.resume_tenant(actor=actor, tenant=row, reason=sent.get("note", ""))
    return _("%(row)s is open again.") % {"row": row}


def suspend_person(actor: Actor, row: User, sent: Mapping[str, str]) -> str:
    """The button of that name."""
    access.suspend_person(actor=actor, person=row, reason=sent.get("note", ""))
    return _("%(row)s is suspended and signed out everywhere.") % {"row": row}


def resume_person(actor: Actor, row: User, sent: Mapping[str, str]) -> str:
    """The button of that name."""
    access.resume_person(actor=actor, person=row, reason=sent.get("note", ""))
    return _("%(row)s may sign in again.") % {"row": row}


@admin.register(Tenant, site=operations)
class TenantAdmin(PageAdmin):
    """Tenants with their members."""

    page = "admin/tenants/tenant.html"
    verbs = {"suspend": suspend_tenant, "resume": resume_tenant}
    list_display = ("name", "slug", "state", "people", "created_at", "suspended_at")
    list_filter = (("suspended_at", admin.EmptyFieldListFilter),)
    search_fields = ("name", "slug")
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """With the number of live members."""
        live = models.Count("memberships", filter=models.Q(memberships__ended_at=None))
        rows: models.QuerySet[models.Model] = super().get_queryset(request).annotate(live=live)
        return rows

    @admin.display(description=gettext_lazy("State"), ordering="suspended_at")
    def state(self, row: Tenant) -> str:
        """Open or suspended."""
        return badge("suspended" if row.suspended_at else "active")

    @admin.display(description=gettext_lazy("People"), ordering="live")
    def people(self, row: Any) -> int:
        """Live members."""
        return int(row.live)

    def page_context(self, actor: Actor, row: Tenant) -> JSONDict:
        """The members, the present ones first."""
        members = Membership.objects.select_related("user").for_operator(actor).filter(tenant=row)
        return {"members": members.order_by(models.F("ended_at").desc(nulls_first=True))[:MOST_SHOWN]}


@admin.register(User, site=operations)
class UserAdmin(PageAdmin):
    """People with what their issuer says."""

    page = "admin/tenants/user.html"
    verbs = {"suspend": suspend_person, "resume": resume_person}
    list_display = ("name", "email", "email_verified", "created_at", "last_login", "state")
    list_filter = ("is_active",)
    search_fields = ("name", "email", "identities__subject", "identities__issuer")
    ordering = ("name",)

    @admin.display(description=gettext_lazy("State"), ordering="is_active")
    def state(self, row: User) -> str:
        """May sign in or not."""
        return badge("active" if row.is_active else "suspended")

    def page_context(self, actor: Actor, row: User) -> JSONDict:
        """Subjects and issuers, and the tenants."""
        members = Membership.objects.select_related("tenant").for_operator(actor).filter(user=row)
        return {
            "identities": row.identities.order_by("pk"),
            "members": members.order_by(models.F("ended_at").desc(nulls_first=True))[:MOST_SHOWN],
            "is_me": actor.user is not None and actor.user.pk == row.pk,
        }
