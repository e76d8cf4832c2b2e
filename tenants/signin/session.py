"""From a session to an actor: the person, the identity that signed in, and whether it is an operator's."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.db.models import Q

from portal.lib import clock
from tenants.actor import NOBODY, Actor
from tenants.models import OidcIdentity, User

IDENTITY_KEY = "identity"  # primary key of the OidcIdentity that signed in
SID_KEY = "oidc_sid"  # the provider's own session, for back-channel sign-out
HINT_KEY = "oidc_id_token"  # proves to the provider whose session is to end
SEEN_EVERY = dt.timedelta(minutes=5)


def is_operator(identity: OidcIdentity) -> bool:
    """Of the one operator issuer, or named by issuer and subject. Never from a membership or a claim."""
    if settings.OPERATOR_ISSUER and identity.issuer == settings.OPERATOR_ISSUER:
        return True
    return (identity.issuer, identity.subject) in settings.OPERATORS


def actor_of(session: SessionBase, user: AbstractBaseUser | AnonymousUser) -> Actor:
    """The actor of a session whose person Django has loaded; NOBODY unless all of it still holds."""
    if not isinstance(user, User) or not user.is_active:
        return NOBODY
    key = session.get(IDENTITY_KEY)
    identity = OidcIdentity.objects.filter(pk=key, user=user).first() if isinstance(key, int) else None
    if identity is None:
        return NOBODY
    user.is_operator = is_operator(identity)
    return Actor(user=user, identity=identity, is_operator=user.is_operator)


def note_seen(identity: OidcIdentity) -> None:
    """Keep when this person was last here, to about five minutes."""
    now = clock.now()
    due = Q(last_seen_at=None) | Q(last_seen_at__lt=now - SEEN_EVERY)
    if identity.last_seen_at is None or identity.last_seen_at < now - SEEN_EVERY:
        OidcIdentity.objects.filter(due, pk=identity.pk).update(last_seen_at=now)
