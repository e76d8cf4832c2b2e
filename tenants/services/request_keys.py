"""Binds one-time keys to what was asked under them; bookkeeping of the API, so without an audit row."""

from __future__ import annotations

import uuid

from tenants.actor import Actor
from tenants.models import RequestKey


def claim(*, actor: Actor, key: uuid.UUID, fingerprint: str) -> bool:
    """Bind the key if it is free; False when it is bound to something else."""
    RequestKey.objects.bulk_create(
        [RequestKey(user=actor.user, key=key, fingerprint=fingerprint)], ignore_conflicts=True
    )
    return RequestKey.objects.filter(user=actor.user, key=key, fingerprint=fingerprint).exists()


def release(*, actor: Actor, key: uuid.UUID) -> None:
    """Free a key under which nothing was done."""
    RequestKey.objects.filter(user=actor.user, key=key).delete()
