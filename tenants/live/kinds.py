"""The live kinds of tenants itself."""

from __future__ import annotations

import uuid

from django.db import models

from portal.lib import clock
from portal.lib.keyset import ROWS
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.hooks import accounts_of
from tenants.live.registry import LiveKind, register
from tenants.models import Invitation, Membership, OidcIdentity, Tenant
from tenants.rights import Action, may

MOST_SHOWN = 500


def members_context(actor: Actor, row: Tenant, *, after: str = "") -> JSONDict:
    """Some people with their accounts, by name, and open invitations of the actor's tenant.

    They begin behind the place `after`; anything that is no place is the beginning.
    """
    behind = _behind(after)
    seen = OidcIdentity.objects.filter(user=models.OuterRef("user")).order_by().values("user")
    found = list(
        Membership.objects.for_actor(actor)
        .filter(behind or models.Q(), ended_at=None)
        .select_related("user")
        .annotate(last_seen=models.Subquery(seen.values(at=models.Max("last_seen_at"))))
        .order_by("user__name", "user_id")[: ROWS + 1]
    )
    people = found[:ROWS]
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
        "next": f"{people[-1].user.name}~{people[-1].user_id.hex}" if len(found) > ROWS else "",
        "is_first": behind is None,
    }


def _behind(after: str) -> models.Q | None:
    """People behind one, by name and id."""
    name, _, key = after.replace("\0", "").rpartition("~")
    try:
        person = uuid.UUID(key)
    except ValueError:
        return None
    return models.Q(user__name__gt=name) | models.Q(user__name=name, user_id__gt=person)


MEMBERS = register(
    LiveKind(
        kind="members",
        rows=Tenant.objects.all,
        template="tenants/members.html#people",
        context=members_context,
    )
)
