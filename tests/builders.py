"""Builders of people and tenants: plain rows, each with a sensible default."""

from __future__ import annotations

import re
import uuid

from django.conf import settings
from django.test import Client

from portal.lib import clock
from tenants.actor import Actor
from tenants.models import Membership, OidcIdentity, Role, Tenant, User
from tenants.signin.session import IDENTITY_KEY, is_operator


def make_user(
    name: str = "Ada",
    *,
    issuer: str | None = None,
    subject: str | None = None,
    email: str | None = None,
    email_verified: bool = True,
) -> User:
    """A person with one identity; subject and address follow from the name."""
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "person"
    address = f"{word}@example.org" if email is None else email
    user = User.objects.create(name=name, email=address, email_verified=email_verified)
    OidcIdentity.objects.create(
        user=user,
        issuer=issuer or settings.OIDC["issuer"],
        subject=subject or f"{word}-{uuid.uuid4().hex[:8]}",
        email=address,
        email_verified=email_verified,
    )
    return user


def make_operator(name: str = "Otto") -> User:
    """An operator, named by issuer and subject in the tests' settings; one per test."""
    issuer, subject = settings.OPERATORS[0]
    return make_user(name, issuer=issuer, subject=subject)


def make_tenant(name: str = "Aurora Lab", *, owner: User | None = None, slug: str | None = None) -> Tenant:
    """A tenant; with an owner if one is given."""
    word = slug or re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    tenant = Tenant.objects.create(name=name, slug=word, terms_accepted_at=clock.now())
    if owner is not None:
        make_member(tenant, Role.OWNER, user=owner)
    return tenant


def make_member(tenant: Tenant, role: str = Role.MEMBER, *, user: User | None = None) -> User:
    """A live member; a new person named after the role unless one is given."""
    person = user or make_user(f"{Role(role).label} {uuid.uuid4().hex[:6]}")
    Membership.objects.create(tenant=tenant, user=person, role=role)
    return person


def sign_in(client: Client, user: User) -> Client:
    """The client with a session of this person's first identity, as the callback leaves it."""
    client.force_login(user)
    session = client.session
    session[IDENTITY_KEY] = user.identities.get().pk
    session.save()
    return client


def actor_for(user: User, tenant: Tenant | None = None) -> Actor:
    """The actor of this person, inside a tenant if one is given. Raises NotVisible for a stranger."""
    identity = user.identities.get()
    actor = Actor(user=user, identity=identity, is_operator=is_operator(identity), address="192.0.2.7")
    return actor.within(tenant.slug) if tenant is not None else actor
