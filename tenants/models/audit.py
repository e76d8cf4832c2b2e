"""The append-only trail: who did what, to what, through what. A database trigger refuses change."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy

from tenants.scoping import TenantQuerySet


class AuditEvent(models.Model):
    """One recorded act. `verb` reads `order.approved`; `detail` holds facts, never a secret."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(gettext_lazy("when"), auto_now_add=True)
    tenant = models.ForeignKey(
        "tenants.Tenant",
        verbose_name=gettext_lazy("tenant"),
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,  # it begins audit_by_tenant
    )
    verb = models.CharField(gettext_lazy("verb"), max_length=60)
    # person, operator, system, anonymous
    actor_kind = models.CharField(gettext_lazy("kind of actor"), max_length=10)
    actor_user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, null=True, related_name="+")
    # name, and issuer and subject, as they were then
    actor_label = models.CharField(gettext_lazy("who"), max_length=600)
    via = models.CharField(gettext_lazy("way"), max_length=10)  # web, admin, api, worker, command
    target_type = models.CharField(gettext_lazy("type of thing"), max_length=60, blank=True)
    target_id = models.CharField(gettext_lazy("id of the thing"), max_length=60, blank=True)
    target_label = models.CharField(gettext_lazy("thing"), max_length=200, blank=True)
    detail = models.JSONField(gettext_lazy("details"), default=dict)
    address = models.GenericIPAddressField(gettext_lazy("address"), null=True)
    request_id = models.CharField(gettext_lazy("request"), max_length=36, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "tenant"

    class Meta:
        verbose_name = gettext_lazy("audit event")
        verbose_name_plural = gettext_lazy("audit events")
        indexes = [
            models.Index(fields=["tenant", "-id"], name="audit_by_tenant"),
            models.Index(fields=["target_type", "target_id"], name="audit_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_label}: {self.verb}"
