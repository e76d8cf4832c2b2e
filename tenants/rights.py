"""What each role may do: one table, nowhere else."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from portal.lib.errors import NotAllowed

if TYPE_CHECKING:
    from tenants.actor import Actor


class Action(enum.Enum):
    """What a member may want to do; the value completes "Your role may not ..."."""

    VIEW = "look at this"
    LEAVE = "leave the tenant"
    SUBMIT_JOB = "submit jobs"
    ACT_ON_OWN_JOB = "act on jobs"
    ACT_ON_ANY_JOB = "act on jobs of others"
    READ_OWN_OUTPUT = "read the output of own jobs"
    READ_ANY_OUTPUT = "read the output of others' jobs"
    ORDER = "order, change or cancel clusters"
    MANAGE_PEOPLE = "invite or remove people"
    READ_AUDIT = "read the audit trail"
    NAME_OWNERS = "name owners"
    CHANGE_SETTINGS = "change the tenant's settings"
    TERMINATE = "terminate a cluster"
    USE_KUBERNETES = "get or revoke kubeconfigs"


_VIEWER = frozenset({Action.VIEW, Action.LEAVE, Action.USE_KUBERNETES})
_MEMBER = _VIEWER | {Action.SUBMIT_JOB, Action.ACT_ON_OWN_JOB, Action.READ_OWN_OUTPUT}
_ADMIN = _MEMBER | {
    Action.ACT_ON_ANY_JOB,
    Action.READ_ANY_OUTPUT,
    Action.ORDER,
    Action.MANAGE_PEOPLE,
    Action.READ_AUDIT,
}
_OWNER = _ADMIN | {Action.NAME_OWNERS, Action.CHANGE_SETTINGS, Action.TERMINATE}
RIGHTS: dict[str, frozenset[Action]] = {
    "viewer": _VIEWER,
    "member": _MEMBER,
    "admin": _ADMIN,
    "owner": _OWNER,
}


def may(actor: Actor, action: Action) -> bool:
    """Whether the actor's role in the tenant of the address allows it, and the API token if there is one."""
    if actor.grant is not None and action not in actor.grant.actions:
        return False
    return actor.role is not None and action in RIGHTS[actor.role]


def require(actor: Actor, action: Action) -> None:
    """Raise NotAllowed (403) unless `may`."""
    if may(actor, action):
        return
    if actor.grant is not None and actor.role is not None and action in RIGHTS[actor.role]:
        raise NotAllowed(
            f"This API token may not {action.value}.", hint="Make a token with a scope that allows it."
        )
    raise NotAllowed(
        f"Your role may not {action.value}.", hint="Ask an owner or admin of your tenant to do it."
    )
