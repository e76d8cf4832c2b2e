"""The live kinds of tenants itself."""

from __future__ import annotations

from django.db import models

from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.hooks import accounts_of
from tenants.live.registry import LiveKind, register
from tenants.models import Invitation, Membership, Tenant
from tenants.rights import Action, may

MOST_SHOWN = 500


def members_context(actor: Actor, row: Tenant) -> JSONDict:
    """People with their accounts, and open invitations of the actor's tenant."""
    people = list(
        Membership.objects.for_actor(actor)
        .filter(ended_at=None)
        .select_related("user")
        .annotate(last_seen=models.Max("user__identities__last_seen_at"))
        .order_by("user__name", "created_at")[:MOST_SHOWN]
    )
    invitations = (
        Invitation.objects.for_actor(actor)
        .filter(accepted_at=None, revoked_at=None, expires_at__gt=clock.now())
        .select_related("invited_by")
        .order_by("-created_at")[:MOST_SHOWN]
    )
    accounts = accounts_of([person.pk for person in people])
    manages = may(actor, Action.MANAGE_PEOPLE)
    return {
        "tenant": row,
        "people": [{"row": person, "accounts": accounts.get(person.pk, [])} for person in people],
        "invitations": invitations if manages else (),
        "manages": manages,
    }


MEMBERS = register(
    LiveKind(
        kind="members",
        rows=Tenant.objects.all,
        template="tenants/members.html#people",
        context=members_context,
    )
)
