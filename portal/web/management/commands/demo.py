"""Makes the demo's people, tenants and site: `manage.py demo`. What is there already stays as it is."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from clusters import demo
from portal.run import people
from tenants.actor import Actor
from tenants.models import Membership, OidcIdentity, Tenant
from tenants.services.invitations import accept_invitation, invite
from tenants.services.people import sign_in_person
from tenants.services.tenants import found_tenant
from tenants.signin.claims import Claims

TENANTS = {"ada": ("Lab North", "lab-north"), "olga": ("Lab South", "lab-south")}
MEMBERS = {"rui": ("lab-north", "member")}


class Command(BaseCommand):
    """Through the services, so that the demo's audit trail begins as a real one does."""

    help = "Make the demo's people, tenants and site. Refuses in production."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002  # the signature is Django's
        """Make what is missing."""
        if settings.PRODUCTION:
            raise CommandError("The demo's people and site do not exist in production.")
        demo.load()
        actors = {person.subject: _sign_in(person) for person in people.PEOPLE}
        for subject, (name, slug) in TENANTS.items():
            if not Tenant.objects.filter(slug=slug).exists():
                found_tenant(actor=actors[subject], name=name, slug=slug, terms_accepted=True)
        for subject, (slug, role) in MEMBERS.items():
            _join(actors[subject], Tenant.objects.get(slug=slug), role)


def _sign_in(person: people.Person) -> Actor:
    """The person's actor; known at the demo's provider, registered here at the first run."""
    issuer = settings.OIDC["issuer"]
    told = person.claims()
    identity = OidcIdentity.objects.filter(issuer=issuer, subject=person.subject).first()
    if identity is None:
        claims = Claims(
            issuer, person.subject, name=person.name, email=str(told["email"]), email_verified=True
        )
        identity = sign_in_person(actor=Actor(via="command"), claims=claims)
    return Actor(user=identity.user, identity=identity, via="command")


def _join(actor: Actor, tenant: Tenant, role: str) -> None:
    if Membership.objects.filter(tenant=tenant, user=actor.user).exists() or actor.user is None:
        return
    owner = Membership.objects.select_related("user").get(tenant=tenant, role="owner", ended_at=None).user
    host = Actor(user=owner, identity=owner.identities.get(), via="command").within(tenant.slug)
    _, token = invite(actor=host, email=actor.user.email, role=role)
    accept_invitation(actor=actor, token=token)
