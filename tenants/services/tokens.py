"""API tokens: made by their person in the browser, shown once, and asked for afresh at each request."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext as _

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import ApiToken, Membership
from tenants.rights import Action, require
from tenants.scopes import SCOPES, Grant, actions_of, useful_scopes
from tenants.scoping import TenantQuerySet
from tenants.services.invitations import hash_of

PREFIX = "fht_"  # by which scanners for leaked secrets know it
LONGEST_LIFE = dt.timedelta(days=365)
LONGEST_NAME = 60
MOST_TOKENS = 20  # of one member that work
SEEN_EVERY = dt.timedelta(minutes=1)


def create_token(
    *, actor: Actor, name: str, scopes: Sequence[str], expires_at: dt.datetime
) -> tuple[ApiToken, str]:
    """A new token of the actor's own membership, and its text, which is known only now.

    Raises NotAllowed for a program (a token makes no tokens), WrongState for too many, BadInput per field.
    """
    require(actor, Action.VIEW)
    if actor.grant is not None or actor.identity is None:
        raise NotAllowed(_("API tokens are made in the browser, by the person who will use them."))
    name = " ".join(name.split())
    membership = Membership.objects.get(tenant=actor.tenant, user=actor.user, ended_at=None)
    _check(name, scopes, expires_at, membership.role)
    secret = PREFIX + secrets.token_urlsafe(32)
    with command("token.created", actor=actor) as done:
        Membership.objects.select_for_update().get(pk=membership.pk)  # counted one at a time
        if working_tokens(membership).count() >= MOST_TOKENS:
            raise WrongState(
                _("You have %(most)d tokens here.") % {"most": MOST_TOKENS},
                hint=_("Revoke one that nothing uses."),
            )
        token = ApiToken.objects.create(
            membership=membership,
            identity=actor.identity,
            name=name,
            scopes=[scope for scope in SCOPES if scope in scopes],
            token_hash=hash_of(secret),
            ending=secret[-4:],
            expires_at=expires_at,
        )
        done.target = token
        done.detail = {"scopes": token.scopes, "expires_at": expires_at.isoformat()}
    return token, secret


def revoke_token(*, actor: Actor, token: ApiToken) -> None:
    """Make an own token useless. Raises NotAllowed for another's, WrongState if it was revoked already."""
    require_revocable(actor=actor, token=token)
    with command("token.revoked", actor=actor, target=token):
        rows = ApiToken.objects.filter(pk=token.pk, revoked_at=None)
        if rows.update(revoked_at=clock.now()) != 1:
            raise WrongState(_("This token was revoked already."))


def require_revocable(*, actor: Actor, token: ApiToken) -> None:
    """Raises NotAllowed for another's token, WrongState for one that was revoked already."""
    require(actor, Action.VIEW)
    if actor.user is None or token.membership.user_id != actor.user.pk:
        raise NotAllowed(_("Only the person whose token this is can revoke it."))
    if token.revoked_at is not None:
        raise WrongState(_("This token was revoked already."))


def actor_of_token(secret: str) -> Actor | None:
    """Who asks with this token, as of now; None unless it works and its person is a member still."""
    if not secret.startswith(PREFIX):
        return None
    tokens = ApiToken.objects.select_related("membership__user", "membership__tenant", "identity")
    token = tokens.filter(token_hash=hash_of(secret)).first()
    if token is None or state_of(token) != "works" or not token.membership.is_working:
        return None
    _note_used(token)
    grant = Grant(token.pk, token.name, token.membership, actions_of(token.scopes))
    return Actor(via="api", user=token.membership.user, identity=token.identity, grant=grant)


def token_of(actor: Actor) -> ApiToken:
    """The token with which this actor asks."""
    assert actor.grant is not None  # noqa: S101  # only for actors that actor_of_token made
    return ApiToken.objects.select_related("membership__tenant").get(pk=actor.grant.token_id)


def own_tokens(actor: Actor) -> TenantQuerySet[ApiToken]:
    """Tokens of the actor's own membership, the newest first."""
    rows = ApiToken.objects.for_actor(actor).filter(membership__user=actor.user, membership__ended_at=None)
    return rows.order_by("-created_at")


def working_tokens(membership: Membership) -> TenantQuerySet[ApiToken]:
    """Neither revoked nor ended."""
    return ApiToken.objects.filter(membership=membership, revoked_at=None, expires_at__gt=clock.now())


def state_of(token: ApiToken) -> str:
    """works, revoked or ended."""
    if token.revoked_at is not None:
        return "revoked"
    return "ended" if token.expires_at <= clock.now() else "works"


def _check(name: str, scopes: Sequence[str], expires_at: dt.datetime, role: str) -> None:
    fields: dict[str, str] = {}
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        fields["name"] = f"Enter a name of 1 to {LONGEST_NAME} printable characters."
    useful = useful_scopes(role)
    if not scopes or not set(scopes) <= SCOPES.keys():
        fields["scopes"] = "Choose at least one scope."
    elif beyond := sorted(set(scopes) - set(useful)):
        fields["scopes"] = f"Your role has no use for: {', '.join(beyond)}."
    now = clock.now()
    if not now < expires_at <= now + LONGEST_LIFE:
        fields["days"] = f"A token lives 1 to {LONGEST_LIFE.days} days."
    if fields:
        raise BadInput(fields=fields)


def _note_used(token: ApiToken) -> None:
    now = clock.now()
    if token.last_used_at is None or token.last_used_at < now - SEEN_EVERY:
        due = Q(last_used_at=None) | Q(last_used_at__lt=now - SEEN_EVERY)
        ApiToken.objects.filter(due, pk=token.pk).update(last_used_at=now)
