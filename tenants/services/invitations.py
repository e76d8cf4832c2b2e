"""Invitations: a token and a verified address together open a tenant, once."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Q
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from tenants.actor import Actor
from tenants.commands import Command, command
from tenants.hooks import tell_membership_changed
from tenants.live.kinds import MEMBERS
from tenants.models import Invitation, Membership, Role, Tenant
from tenants.rights import RIGHTS, Action, require
from tenants.scoping import TenantQuerySet
from tenants.services import outbox
from tenants.services.members import check_role, set_role

LIFETIME = dt.timedelta(days=7)
MOST_OPEN = 200
MOST_A_DAY = 300  # of one tenant; each is a mail to an address that somebody typed
MOST_A_DAY_TO_ONE = 5


def invite(*, actor: Actor, email: str, role: str) -> tuple[Invitation, str]:
    """A new invitation and its token, which is known only now: only the hash is kept, and a sealed mail.

    Raises NotAllowed, BadInput, and WrongState where too many are open or were made today.
    """
    require(actor, Action.MANAGE_PEOPLE)
    tenant = actor.tenant
    assert tenant is not None  # noqa: S101  # `require` has seen a role, which only a tenant gives
    assert actor.user is not None  # noqa: S101
    check_role(actor, role)
    email = email.strip()
    _check_address(tenant, email)
    _check_number(tenant, email)
    token = secrets.token_urlsafe(32)
    with command("invitation.made", actor=actor, tenant=tenant) as done:
        invitation = Invitation.objects.create(
            tenant=tenant,
            email=email,
            role=role,
            token_hash=hash_of(token),
            invited_by=actor.user,
            expires_at=clock.now() + LIFETIME,
        )
        done.target = invitation
        done.detail |= {"role": role, "email": email}
        done.publish(MEMBERS.topic(tenant))
        _mail(invitation, token)
    return invitation, token


def link_of(token: str) -> str:
    """The address that opens an invitation; its host is ours by setting, never the request's."""
    return settings.PUBLIC_URL + reverse("invitation-open", args=[token])


def revoke_invitation(*, actor: Actor, invitation: Invitation) -> None:
    """Make an open invitation useless."""
    require(actor, Action.MANAGE_PEOPLE)
    with command("invitation.revoked", actor=actor, target=invitation) as done:
        rows = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
        if rows.update(revoked_at=clock.now()) != 1:
            raise WrongState(_("This invitation was used or taken back already."))
        outbox.take_back_mail(about_id=invitation.pk, why="The invitation was taken back.")
        done.publish(MEMBERS.topic(invitation.tenant))


def find_invitation(*, actor: Actor, token: str) -> Invitation:
    """The invitation of a link, for the person to whom it is addressed, if it can be accepted now.

    Raises NotVisible for no such link, NotAllowed for another or unverified address, WrongState for one
    that was used, revoked, has ended, or whose inviter may no longer invite. Changes nothing.
    """
    invitation = _behind(token)
    _check_person(actor, invitation)
    state = state_of(invitation)
    if state != "open":
        raise WrongState(
            _CLOSED[state],
            hint=_("Ask %(invited_by)s for a new one.") % {"invited_by": invitation.invited_by},
        )
    _check_inviter(_newest(invitation))
    return invitation


def look_at_link(*, token: str) -> Invitation:
    """The newest open invitation for the person of a link, for anyone who has it.

    Raises NotVisible for no such link, WrongState for one that was used, revoked or has ended.
    """
    invitation = _behind(token)
    state = state_of(invitation)
    if state != "open":
        raise WrongState(_CLOSED[state], hint=_("Ask who invited you for a new one."))
    return _newest(invitation)


def accept_invitation(*, actor: Actor, token: str) -> Membership:
    """Join the tenant. All is checked again here; of several open ones the newest role holds."""
    found = find_invitation(actor=actor, token=token)
    with command("invitation.accepted", actor=actor, tenant=found.tenant, target=found) as done:
        Tenant.objects.select_for_update().get(pk=found.tenant_id)  # one acceptance at a time
        newest = _newest(found)
        now = clock.now()
        rows = Invitation.objects.filter(pk=found.pk, accepted_at=None, revoked_at=None)
        if rows.update(accepted_at=now, accepted_by=actor.user) != 1:
            raise WrongState(_CLOSED["used"])
        same = open_invitations(found.tenant).filter(email__iexact=found.email)
        replaced = same.update(revoked_at=now)
        done.detail |= {"role": newest.role, "others_closed": replaced}
        done.publish(MEMBERS.topic(found.tenant))
        return _join(done, actor, found.tenant, newest.role)


def open_invitations(tenant: Tenant) -> TenantQuerySet[Invitation]:
    """Those that can still be accepted."""
    return Invitation.objects.filter(is_open(), tenant=tenant)


def is_open() -> Q:
    """The condition of those that can still be accepted, as of now."""
    return Q(accepted_at=None, revoked_at=None, expires_at__gt=clock.now())


def state_of(invitation: Invitation) -> str:
    """open, used, revoked or ended."""
    if invitation.accepted_at:
        return "used"
    if invitation.revoked_at:
        return "revoked"
    return "ended" if invitation.expires_at <= clock.now() else "open"


def masked(email: str) -> str:
    """Enough of an address to recognise one's own: a…n@example.org."""
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}…{local[-1:] if len(local) > 2 else ''}@{domain}"


def hidden(email: str) -> str:
    """As masked, for people who are not known yet: b…n@e….org."""
    local, _at, domain = masked(email).rpartition("@")
    name, _dot, top = domain.rpartition(".")
    return f"{local}@{name[:1]}….{top}" if name else f"{local}@…"


def hash_of(token: str) -> str:
    """What is kept of a token. It has 256 random bits: no salt and no slow hash are needed."""
    return hashlib.sha256(token.encode()).hexdigest()


_CLOSED = {
    "used": gettext_lazy("This invitation was used already. Each works once."),
    "revoked": gettext_lazy("This invitation was taken back, or replaced by another."),
    "ended": gettext_lazy("This invitation has ended. Each is good for seven days."),
}


def _behind(token: str) -> Invitation:
    known = Invitation.objects.select_related("tenant", "invited_by")
    invitation = known.filter(token_hash=hash_of(token), tenant__suspended_at=None).first()
    if invitation is None:
        raise NotVisible(
            _("There is no invitation behind this link."),
            hint=_("Copy the whole link, or ask for a new one."),
        )
    return invitation


def _check_address(tenant: Tenant, email: str) -> None:
    try:
        validate_email(email)
    except ValidationError as error:
        raise BadInput(fields={"email": _("Enter one e-mail address, such as ada@example.org.")}) from error
    if len(email) > 254:
        raise BadInput(fields={"email": _("An address has at most 254 characters.")})
    members = Membership.objects.filter(
        tenant=tenant, ended_at=None, user__email__iexact=email, user__email_verified=True
    )
    if members.exists():
        raise BadInput(fields={"email": _("This person is a member already. Change the role on Members.")})


def _check_number(tenant: Tenant, email: str) -> None:
    if open_invitations(tenant).count() >= MOST_OPEN:
        raise WrongState(
            _("%(most)d invitations are open.") % {"most": MOST_OPEN},
            hint=_("Revoke some that nobody needs."),
        )
    today = Invitation.objects.filter(tenant=tenant, created_at__gt=clock.now() - dt.timedelta(days=1))
    if today.count() >= MOST_A_DAY:
        raise WrongState(
            _("%(most)d invitations were made in the last 24 hours.") % {"most": MOST_A_DAY},
            hint="Go on tomorrow.",
        )
    if today.filter(email__iexact=email).count() >= MOST_A_DAY_TO_ONE:
        raise WrongState(
            _("This address was invited %(most)d times in the last 24 hours.") % {"most": MOST_A_DAY_TO_ONE},
            hint=_("The newest link works; copy it from there, or invite again tomorrow."),
        )


def _mail(invitation: Invitation, token: str) -> None:
    outbox.queue_mail(
        to=invitation.email,
        subject=format_lazy(
            gettext_lazy("{inviter} invites you to {tenant}"),
            inviter=invitation.invited_by,
            tenant=invitation.tenant,
        ),
        template="invitation.txt",
        context={
            "invitation": invitation,
            "inviter": invitation.invited_by,
            "tenant": invitation.tenant,
            "link": link_of(token),
        },
        kind="invitation",
        about_id=invitation.pk,
    )


def _check_person(actor: Actor, invitation: Invitation) -> None:
    identity = actor.identity
    if actor.user is None or identity is None:
        raise NotAllowed(_("Sign in to accept an invitation."))
    if identity.email.lower() != invitation.email.lower():
        raise NotAllowed(
            _("This invitation is for %(email)s, and you are signed in with another address.")
            % {"email": masked(invitation.email)},
            hint=_("Sign out and sign in with that address, or ask for an invitation to yours."),
        )
    if not identity.email_verified or identity.issuer not in settings.OIDC_TRUSTED_ISSUERS:
        raise NotAllowed(
            _("Your identity provider has not verified your address, so it cannot open an invitation."),
            hint=_("Verify it at your identity provider, then sign out and in again."),
        )


def _newest(invitation: Invitation) -> Invitation:
    same = open_invitations(invitation.tenant).filter(email__iexact=invitation.email)
    return same.select_related("invited_by").order_by("-created_at", "-pk").first() or invitation


def _check_inviter(invitation: Invitation) -> None:
    """The right to invite must still be there when it is used."""
    needed = {Action.MANAGE_PEOPLE} | ({Action.NAME_OWNERS} if invitation.role == Role.OWNER else set())
    role = (
        Membership.objects.working()
        .filter(tenant=invitation.tenant_id, user=invitation.invited_by)
        .values_list("role", flat=True)
        .first()
    )
    if role is None or not needed <= RIGHTS[role]:
        raise WrongState(
            _("The person who invited you may no longer do so."),
            hint=_("Ask another owner or admin of the tenant."),
        )


def _join(done: Command, actor: Actor, tenant: Tenant, role: str) -> Membership:
    present = Membership.objects.filter(tenant=tenant, user=actor.user, ended_at=None).first()
    if present is not None and present.suspended_at is not None:
        raise WrongState(
            _("Your membership in %(tenant)s is suspended, and an invitation does not change that.")
            % {"tenant": tenant},
            hint=_("Ask one of its owners or admins to resume it."),
        )
    if present is not None:
        return set_role(done, present, role) if present.role != role else present
    assert actor.user is not None  # noqa: S101  # seen by _check_person
    membership = Membership.objects.create(tenant=tenant, user=actor.user, role=role)
    tell_membership_changed(membership)
    return membership
