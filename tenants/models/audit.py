"""The append-only trail: who did what, to what, through what. A database trigger refuses change."""

from __future__ import annotations

from django.db import models

from tenants.scoping import TenantQuerySet


class AuditEvent(models.Model):
    """One recorded act. `verb` reads `order.approved`; `detail` holds facts, never a secret."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, null=True, related_name="+")
    verb = models.CharField(max_length=60)
    actor_kind = models.CharField(max_length=10)  # person, operator, system, anonymous
    actor_user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, null=True, related_name="+")
    actor_label = models.CharField(max_length=600)  # name, and issuer and subject, as they were then
    via = models.CharField(max_length=10)  # web, admin, api, worker, command
    target_type = models.CharField(max_length=60, blank=True)
    target_id = models.CharField(max_length=60, blank=True)
    target_label = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "tenant"

    class Meta:
        indexes = [
            models.Index(fields=["tenant", "-id"], name="audit_by_tenant"),
            models.Index(fields=["target_type", "target_id"], name="audit_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} by {self.actor_label}"
