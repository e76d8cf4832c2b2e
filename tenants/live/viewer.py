"""Who looks through a socket, read afresh at every look."""

from __future__ import annotations

from types import SimpleNamespace

from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore

from portal.lib.errors import FreeholdError
from tenants.actor import Actor
from tenants.signin.session import actor_of


def actor_now(session_key: str | None, slug: str) -> Actor | None:
    """Session, person, identity and membership, all read now; None when any of them is gone."""
    if session_key is None:
        return None
    session = SessionStore(session_key)
    try:
        actor = actor_of(session, get_user(SimpleNamespace(session=session)))  # type: ignore[arg-type]
        return actor.within(slug)
    except FreeholdError:
        return None
