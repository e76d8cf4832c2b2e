"""Who looks through a socket, read afresh at every look, and in which language."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeAlias

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user
from django.contrib.sessions.backends.db import SessionStore
from django.utils.crypto import constant_time_compare
from django.utils.translation import get_language_from_request

from portal.lib import clock
from portal.lib.errors import FreeholdError
from tenants.actor import Actor
from tenants.models import Membership, OidcIdentity, User
from tenants.signin.session import IDENTITY_KEY, actor_of, is_operator

Who: TypeAlias = tuple[str | None, str]  # key of the session, and the tenant's address


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


def actors_now(asked: Collection[Who]) -> dict[Who, Actor]:
    """`actor_now` for many, in four queries; whoever has lost the right is missing."""
    people = dict(_signed_in({key for key, _ in asked if key is not None}))
    memberships = Membership.objects.select_related("tenant").working()
    found = memberships.filter(
        tenant__slug__in={slug for _, slug in asked},
        user__in={person.user.pk for person in people.values() if person.user is not None},
    )
    places = {(row.user_id, row.tenant.slug): row for row in found}
    actors = {}
    for key, slug in asked:
        person = people.get(key)
        place = places.get((person.user.pk, slug)) if person and person.user else None
        if person and place:
            actors[key, slug] = replace(person, tenant=place.tenant, role=place.role)
    return actors


def _signed_in(keys: Collection[str]) -> Iterator[tuple[str | None, Actor]]:
    """Sessions that hold, with who is in them: the rules of Django's `get_user` and of `actor_of`."""
    rows = SessionStore.get_model_class().objects.filter(session_key__in=keys, expire_date__gt=clock.now())
    held: dict[str, dict[str, Any]] = {row.session_key: row.get_decoded() for row in rows}
    wanted = {found[SESSION_KEY] for found in held.values() if SESSION_KEY in found}
    users = {str(user.pk): user for user in User.objects.filter(pk__in=wanted, is_active=True)}
    numbers = {found.get(IDENTITY_KEY) for found in held.values()}
    identities = OidcIdentity.objects.in_bulk([number for number in numbers if isinstance(number, int)])
    for key, found in held.items():
        user = users.get(found.get(SESSION_KEY, ""))
        identity = identities.get(found.get(IDENTITY_KEY, 0))
        if user is None or identity is None or identity.user_id != user.pk or not _vouched(found, user):
            continue
        person = copy.copy(user)  # another session of theirs may be an operator's
        person.is_operator = is_operator(identity)
        yield key, Actor(user=person, identity=identity, is_operator=person.is_operator)


def _vouched(session: dict[str, Any], user: User) -> bool:
    """By a way of signing in that still counts, and since this person last ended their sessions."""
    known = session.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
    proof = str(session.get(HASH_SESSION_KEY) or "")
    return known and bool(proof) and constant_time_compare(proof, user.get_session_auth_hash())


def language_of(scope: dict[str, Any]) -> str:
    """The language of a socket's page: by cookie, else as the browser asks, as for any page."""
    asked = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
    request: Any = SimpleNamespace(COOKIES=scope.get("cookies", {}), META={"HTTP_ACCEPT_LANGUAGE": asked})
    return get_language_from_request(request)
