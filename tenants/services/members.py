"""Roles of members, and how a membership ends."""

from __future__ import annotations

from portal.lib import clock
from portal.lib.errors import BadInput, WrongState
from tenants.actor import Actor
from tenants.commands import Command, command
from tenants.hooks import tell_membership_changed
from tenants.live.kinds import MEMBERS
from tenants.models import Membership, Role, Tenant, User
from tenants.rights import Action, require


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


def tenants_of(person: User) -> list[Tenant]:
    """The tenants of which a person is a live member, by name."""
    live = Membership.objects.select_related("tenant").filter(
        user=person, ended_at=None, tenant__suspended_at=None
    )
    return [membership.tenant for membership in live.order_by("tenant__name", "tenant__slug")]


def check_role(actor: Actor, role: str, present: str | None = None) -> None:
    """Raise BadInput for no role of ours, NotAllowed where owners are touched by someone who is none."""
    if role not in Role.values:
        raise BadInput(fields={"role": "Choose one of the roles."})
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
    done.detail |= {"person": str(membership.user), "role": membership.role}
    _swap(membership, ended_at=clock.now())
    done.publish(MEMBERS.topic(membership.tenant))
    tell_membership_changed(membership)


def _keep_an_owner(membership: Membership, *, becomes: str | None) -> None:
    """Hold the tenant's row, so that two owners cannot leave at the same moment."""
    Tenant.objects.select_for_update().get(pk=membership.tenant_id)
    others = Membership.objects.filter(
        tenant=membership.tenant_id, role=Role.OWNER, ended_at=None, user__is_active=True
    )
    last = membership.role == Role.OWNER and not others.exclude(pk=membership.pk).exists()
    if last and becomes != Role.OWNER:
        raise WrongState(
            "A tenant must keep an owner, and this is its last one.",
            hint="Make another member an owner first.",
        )


def _swap(membership: Membership, **values: object) -> None:
    rows = Membership.objects.filter(pk=membership.pk, role=membership.role, ended_at=None)
    if rows.update(**values) != 1:
        raise WrongState("This membership was changed or ended a moment ago.")
    membership.refresh_from_db()
