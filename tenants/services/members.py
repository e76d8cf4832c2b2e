"""Roles of members, how a membership ends, and how it is suspended and resumed."""

from __future__ import annotations

import datetime as dt

from django.db.models import Q
from django.utils.translation import gettext as _

from portal.lib import clock
from portal.lib.errors import BadInput, WrongState
from tenants.actor import Actor
from tenants.commands import Command, command
from tenants.hooks import tell_membership_changed
from tenants.live.kinds import MEMBERS
from tenants.models import Membership, Role, Tenant, User
from tenants.rights import Action, require
from tenants.services.ssh_keys import forget_keys


def change_role(*, actor: Actor, membership: Membership, role: str) -> Membership:
    """Give a live member another role. Only an owner names owners, or takes that from one."""
    require(actor, Action.MANAGE_PEOPLE)
    check_role(actor, role, membership.role)
    with command("member.role_changed", actor=actor, target=membership) as done:
        return set_role(done, membership, role)


def remove_member(*, actor: Actor, membership: Membership) -> None:
    """End somebody's membership; their open pages end with it."""
    require(actor, Action.MANAGE_PEOPLE)
    check_role(actor, Role.VIEWER, membership.role)
    with command("member.removed", actor=actor, target=membership) as done:
        _end(done, membership)


def leave(*, actor: Actor) -> None:
    """End one's own membership in the tenant of the address."""
    membership = Membership.objects.get(tenant=actor.tenant, user=actor.user, ended_at=None)
    with command("member.left", actor=actor, target=membership) as done:
        _end(done, membership)


def suspend_member(*, actor: Actor, membership: Membership) -> None:
    """Keep a member out until somebody resumes the membership; role and account names stay theirs.

    Open pages and sockets close within a minute, API and Slurm tokens are refused at once; running jobs
    go on, or are cancelled where the tenant's settings say so. Raises NotAllowed and WrongState.
    """
    require(actor, Action.MANAGE_PEOPLE)
    check_role(actor, Role.VIEWER, membership.role)
    if actor.user is not None and membership.user_id == actor.user.pk:
        raise WrongState(_("You cannot suspend yourself."), hint=_("You can leave the tenant."))
    with command("member.suspended", actor=actor, target=membership) as done:
        _keep_an_owner(membership, becomes=None)
        if membership.suspended_at is not None:
            raise WrongState(_("%(person)s is suspended already.") % {"person": membership.user})
        now = clock.now()
        _swap(membership, suspended_at=now, end_jobs_since=_jobs_end(membership, now))
        _tell(done, membership, jobs_end=membership.end_jobs_since is not None)


def resume_member(*, actor: Actor, membership: Membership) -> None:
    """Let a suspended member in again, with the role of before. Raises NotAllowed and WrongState."""
    require(actor, Action.MANAGE_PEOPLE)
    check_role(actor, Role.VIEWER, membership.role)
    with command("member.resumed", actor=actor, target=membership) as done:
        if membership.suspended_at is None:
            raise WrongState(_("%(person)s is not suspended.") % {"person": membership.user})
        _swap(membership, suspended_at=None, end_jobs_since=None)
        _tell(done, membership)


def end_jobs_of(membership: Membership) -> bool:
    """Inside a command that keeps a member out: ask for the end of the jobs if the tenant wants that."""
    since = _jobs_end(membership, clock.now())
    if since is not None:
        Membership.objects.filter(pk=membership.pk).update(end_jobs_since=since)
        membership.end_jobs_since = since
    return since is not None


def suspended_in(person: User) -> list[Tenant]:
    """The tenants that keep a person out for now, for a page that says why they are not in the list."""
    kept_out = Membership.objects.live().select_related("tenant").filter(user=person)
    kept_out = kept_out.filter(Q(tenant__suspended_at__isnull=False) | Q(suspended_at__isnull=False))
    return [membership.tenant for membership in kept_out.order_by("tenant__name", "tenant__slug")]


def tenants_of(person: User) -> list[Tenant]:
    """The tenants that a person may enter, by name."""
    return [membership.tenant for membership in Membership.objects.places_of(person)]


def check_role(actor: Actor, role: str, present: str | None = None) -> None:
    """Raise BadInput for no role of ours, NotAllowed where owners are touched by someone who is none."""
    if role not in Role.values:
        raise BadInput(fields={"role": _("Choose one of the roles.")})
    if Role.OWNER in {role, present}:
        require(actor, Action.NAME_OWNERS)


def set_role(done: Command, membership: Membership, role: str) -> Membership:
    """Inside a command: the role by compare-and-swap, never without a last owner."""
    _keep_an_owner(membership, becomes=role)
    done.detail |= {"person": str(membership.user), "old": membership.role, "new": role}
    _swap(membership, role=role)
    done.publish(MEMBERS.topic(membership.tenant))
    tell_membership_changed(membership)
    return membership


def _end(done: Command, membership: Membership) -> None:
    _keep_an_owner(membership, becomes=None)
    now = clock.now()
    _swap(membership, ended_at=now, end_jobs_since=_jobs_end(membership, now))
    forget_keys(membership)
    _tell(done, membership, jobs_end=membership.end_jobs_since is not None)


def _tell(done: Command, membership: Membership, **facts: object) -> None:
    done.detail |= {"person": str(membership.user), "role": membership.role, **facts}
    done.publish(MEMBERS.topic(membership.tenant))
    tell_membership_changed(membership)


def _jobs_end(membership: Membership, now: dt.datetime) -> dt.datetime | None:
    """Since when the jobs of who is kept out are to end; None where the tenant lets them go on."""
    wants = Tenant.objects.filter(pk=membership.tenant_id, cancel_jobs_on_leave=True).exists()
    return now if wants else membership.end_jobs_since


def _keep_an_owner(membership: Membership, *, becomes: str | None) -> None:
    """Hold the tenant's row, so that two owners cannot leave at the same moment."""
    Tenant.objects.select_for_update().get(pk=membership.tenant_id)
    others = Membership.objects.live().filter(
        tenant=membership.tenant_id, role=Role.OWNER, suspended_at=None, user__is_active=True
    )
    last = membership.role == Role.OWNER and not others.exclude(pk=membership.pk).exists()
    if last and becomes != Role.OWNER:
        raise WrongState(
            _("A tenant must keep an owner, and this is its last one."),
            hint=_("Make another member an owner first."),
        )


def _swap(membership: Membership, **values: object) -> None:
    rows = Membership.objects.filter(
        pk=membership.pk, role=membership.role, ended_at=None, suspended_at=membership.suspended_at
    )
    if rows.update(**values) != 1:
        raise WrongState(_("This membership was changed or ended a moment ago."))
    membership.refresh_from_db()
