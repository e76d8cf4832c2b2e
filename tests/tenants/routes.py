"""Addresses of the tenants pages for the generated stranger test."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from django.db import models

from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.models import ApiToken, Invitation, Membership
from tenants.services.invitations import invite
from tenants.services.tokens import create_token
from tests.architecture.routes import ADMINS, MEMBERS, OWNERS, Route, World
from tests.builders import actor_for, make_member

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4 ada@laptop"


def member_of(world: World) -> JSONDict:
    person = world.make(make_member, world.tenant, "viewer")
    return {"pk": Membership.objects.get(user=person).pk}


def _invitation(world: World) -> Invitation:
    return invite(actor=actor_for(world.owner, world.tenant), email="new@example.org", role="member")[0]


def invitation_of(world: World) -> JSONDict:
    return {"pk": world.make(_invitation, world).pk}


def second_owner(world: World) -> JSONDict:
    world.make(make_member, world.tenant, "owner")
    return {}


def suspended_member_of(world: World) -> JSONDict:
    kwargs = member_of(world)
    Membership.objects.filter(pk=kwargs["pk"]).update(suspended_at=clock.now())
    return kwargs


def _token(world: World) -> ApiToken:
    actor, end = actor_for(world.owner, world.tenant), clock.now() + dt.timedelta(days=1)
    return create_token(actor=actor, name="robot", scopes=["read"], expires_at=end)[0]


def token_of(world: World) -> JSONDict:
    return {"pk": world.make(_token, world).pk}


ROUTES: dict[str, Route] = {
    "live": Route(lambda world: {"kind": "members", "pk": world.tenant.pk}),
    "members": Route(),
    "invite": Route(
        method="post",
        data=lambda world: {"email": "somebody@example.org", "role": "member"},
        roles=ADMINS,
    ),
    "leave": Route(second_owner, method="post"),
    "member": Route(member_of, method="post", data=lambda world: {"role": "member"}, roles=ADMINS),
    "member-remove": Route(member_of, method="post", roles=ADMINS),
    "member-suspend": Route(member_of, method="post", roles=ADMINS),
    "member-resume": Route(suspended_member_of, method="post", roles=ADMINS),
    "tenant-settings": Route(method="post", data=lambda world: {"leavers_jobs": "cancel"}, roles=OWNERS),
    "invitation-link": Route(invitation_of, roles=ADMINS),
    "invitation-revoke": Route(invitation_of, method="post", roles=ADMINS),
    "tokens": Route(),
    "token-new": Route(method="post", data=lambda world: {"name": "robot", "scopes": ["read"], "days": "9"}),
    "token-revoke": Route(token_of, method="post", roles=frozenset({"owner"})),
    "ssh-keys": Route(method="post", data=lambda world: {"keys": SSH_KEY}, roles=MEMBERS),
    "audit": Route(roles=ADMINS),
    "audit-export": Route(method="post", data=lambda world: {"format": "csv"}, roles=ADMINS),
}
ROWS: dict[str, Callable[[World], models.Model]] = {"members": lambda world: world.tenant}
