"""People, tenants and the audit trail as operators see them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from tenants.audit import words_of
from tenants.models import AuditEvent, Membership, Tenant, User
from tenants.operations import OperationsAdmin, OperationsInline, operations


@admin.register(AuditEvent, site=operations)
class AuditAdmin(OperationsAdmin):
    """Who did what, over all tenants."""

    list_display = ("at", "who", "did", "target_label", "tenant", "via", "address")
    list_display_links = ("at",)
    list_filter = ("actor_kind", "via", ("at", admin.DateFieldListFilter), "tenant")
    search_fields = ("actor_label", "verb", "target_label", "target_id", "request_id", "tenant__slug")
    search_help_text = "Name, issuer or subject; verb; thing or its id; request; tenant"
    list_select_related = ("tenant",)
    ordering = ("-id",)
    fields = (
        ("at", "verb"),
        ("actor_label", "actor_kind", "via", "address"),
        "tenant",
        ("target_type", "target_label", "target_id"),
        "detail",
        "request_id",
    )
    notes_looks = False

    @admin.display(description="Who", ordering="actor_label")
    def who(self, row: AuditEvent) -> str:
        """The name as it was then."""
        return row.actor_label

    @admin.display(description="Did", ordering="verb")
    def did(self, row: AuditEvent) -> str:
        """The verb in words."""
        return words_of(row.verb)


class PeopleInline(OperationsInline):
    """Members of a tenant, to look at."""

    model = Membership
    fields = ("user", "role", "created_at", "ended_at")
    readonly_fields = fields
    verbose_name_plural = "Members"


@admin.register(Tenant, site=operations)
class TenantAdmin(OperationsAdmin):
    """Tenants with their members."""

    list_display = ("name", "slug", "people", "created_at", "suspended_at")
    search_fields = ("name", "slug")
    ordering = ("name",)
    fields = ("name", "slug", "created_at", "terms_accepted_at", "suspended_at")
    inlines = (PeopleInline,)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[models.Model]:
        """With the number of live members."""
        live = models.Count("memberships", filter=models.Q(memberships__ended_at=None))
        rows: models.QuerySet[models.Model] = super().get_queryset(request).annotate(live=live)
        return rows

    @admin.display(description="People", ordering="live")
    def people(self, row: Any) -> int:
        """Live members."""
        return int(row.live)


@admin.register(User, site=operations)
class UserAdmin(OperationsAdmin):
    """People with what their issuer says."""

    list_display = ("name", "email", "email_verified", "created_at", "last_login", "is_active")
    search_fields = ("name", "email", "identities__subject", "identities__issuer")
    ordering = ("name",)
    fields = ("name", "email", "email_verified", "is_active", "created_at", "last_login", "known_as")
    readonly_fields = ("known_as",)

    @admin.display(description="Known as")
    def known_as(self, row: User) -> str:
        """Subjects and issuers."""
        return ", ".join(str(identity) for identity in row.identities.all())
