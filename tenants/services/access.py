"""What operators do to keep a tenant or a person out, and to let them in again. Nothing is removed."""

from __future__ import annotations

from django.utils.translation import gettext as _

from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.hooks import tell_membership_changed, tell_tenant_changed
from tenants.live.kinds import MEMBERS
from tenants.models import Membership, Tenant, User
from tenants.models.people import new_session_salt
from tenants.services.members import end_jobs_of

LONGEST_REASON = 500


def suspend_tenant(*, actor: Actor, tenant: Tenant, reason: str) -> None:
    """Nobody enters the tenant, no job is accepted, nothing new is approved; clusters and jobs go on.

    Raises NotAllowed, WrongState and BadInput (reason).
    """
    _require(actor, reason)
    with command("tenant.suspended", actor=actor, tenant=tenant, target=tenant) as done:
        rows = Tenant.objects.filter(pk=tenant.pk, suspended_at=None)
        if rows.update(suspended_at=clock.now()) != 1:
            raise WrongState(_("%(tenant)s is suspended already.") % {"tenant": tenant})
        tenant.refresh_from_db()
        done.detail = {"reason": reason.strip()}
        tell_tenant_changed(tenant)


def resume_tenant(*, actor: Actor, tenant: Tenant, reason: str) -> None:
    """Open a suspended tenant again. Raises NotAllowed, WrongState and BadInput (reason)."""
    _require(actor, reason)
    with command("tenant.resumed", actor=actor, tenant=tenant, target=tenant) as done:
        rows = Tenant.objects.filter(pk=tenant.pk).exclude(suspended_at=None)
        if rows.update(suspended_at=None) != 1:
            raise WrongState(_("%(tenant)s is not suspended.") % {"tenant": tenant})
        tenant.refresh_from_db()
        done.detail = {"reason": reason.strip()}
        tell_tenant_changed(tenant)


def suspend_person(*, actor: Actor, person: User, reason: str) -> None:
    """End every session of a person, at all tenants, and refuse to sign them in; each tenant's trail says so.

    Raises NotAllowed, WrongState and BadInput (reason).
    """
    _require(actor, reason)
    if actor.user is not None and actor.user.pk == person.pk:
        raise WrongState(_("You cannot suspend yourself."), hint=_("Ask another operator."))
    with command("person.suspended", actor=actor, target=person) as done:
        rows = User.objects.filter(pk=person.pk, is_active=True)
        if rows.update(is_active=False, session_salt=new_session_salt()) != 1:
            raise WrongState(_("%(person)s is suspended already.") % {"person": person})
        person.refresh_from_db()
        done.detail = {"reason": reason.strip()}
        _tell_tenants("member.access_suspended", actor, person)


def resume_person(*, actor: Actor, person: User, reason: str) -> None:
    """Let a suspended person sign in again. Raises NotAllowed, WrongState and BadInput (reason)."""
    _require(actor, reason)
    with command("person.resumed", actor=actor, target=person) as done:
        if User.objects.filter(pk=person.pk, is_active=False).update(is_active=True) != 1:
            raise WrongState(_("%(person)s is not suspended.") % {"person": person})
        person.refresh_from_db()
        done.detail = {"reason": reason.strip()}
        _tell_tenants("member.access_resumed", actor, person)


def _tell_tenants(verb: str, actor: Actor, person: User) -> None:
    """One event in the trail of each tenant of which the person is a member. The reason is the operators'."""
    live = Membership.objects.live().select_related("tenant", "user").filter(user=person).order_by("pk")
    for membership in live:
        with command(verb, actor=actor, tenant=membership.tenant, target=membership) as done:
            if not person.is_active:
                done.detail["jobs_end"] = end_jobs_of(membership)
            elif membership.suspended_at is None:
                Membership.objects.filter(pk=membership.pk).update(end_jobs_since=None)
            tell_membership_changed(membership)
            done.publish(MEMBERS.topic(membership.tenant))


def _require(actor: Actor, reason: str) -> None:
    if not actor.is_operator or actor.user is None:
        raise NotAllowed(_("Only operators suspend and resume tenants and people."))
    if not 1 <= len(reason.strip()) <= LONGEST_REASON or "\0" in reason:
        raise BadInput(fields={"note": _("Say why, in 1 to %(most)d characters.") % {"most": LONGEST_REASON}})
