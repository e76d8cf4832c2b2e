"""Operators' looks at what belongs to a tenant stand in that tenant's audit trail."""

from __future__ import annotations

import datetime as dt

from django.db import models

from portal.lib import clock
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import AuditEvent, Tenant

AGAIN_AFTER = dt.timedelta(minutes=10)  # reloading a page is one look


def note_look(*, actor: Actor, row: models.Model) -> None:
    """Record that an operator opened this row; nothing for rows that belong to no tenant."""
    tenant = row if isinstance(row, Tenant) else getattr(row, "tenant", None)
    if not isinstance(tenant, Tenant):
        return
    recent = AuditEvent.objects.filter(
        tenant=tenant,
        verb="operator.looked",
        actor_user=actor.user,
        target_id=str(row.pk),
        at__gt=clock.now() - AGAIN_AFTER,
    )
    if not recent.exists():
        with command("operator.looked", actor=actor, tenant=tenant, target=row):
            pass
