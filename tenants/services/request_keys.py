"""Binds one-time keys to what was asked under them; bookkeeping of the API, so without an audit row."""

from __future__ import annotations

import uuid

from django.db import connection

from portal.lib import clock
from tenants.actor import Actor
from tenants.models import RequestKey


def claim(*, actor: Actor, key: uuid.UUID, fingerprint: str) -> bool:
    """Bind the key if it is free; False when it is bound to something else."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tenants_requestkey (user_id, key, fingerprint, created_at) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (user_id, key) DO UPDATE SET fingerprint = tenants_requestkey.fingerprint"
            " RETURNING fingerprint",
            [actor.user.pk if actor.user else None, key, fingerprint, clock.now()],
        )
        row = cursor.fetchone()
    return bool(row and row[0] == fingerprint)


def release(*, actor: Actor, key: uuid.UUID) -> None:
    """Free a key under which nothing was done."""
    RequestKey.objects.filter(user=actor.user, key=key).delete()
