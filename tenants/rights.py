"""What each role may do: one table, nowhere else."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from portal.lib.errors import NotAllowed

if TYPE_CHECKING:
    from tenants.actor import Actor


class Action(enum.Enum):
    """What a member may want to do; the value completes "Your role may not ..."."""

    VIEW = gettext_noop("look at this")
    LEAVE = gettext_noop("leave the tenant")
    SUBMIT_JOB = gettext_noop("submit jobs")
    ACT_ON_OWN_JOB = gettext_noop("act on jobs")
    ACT_ON_ANY_JOB = gettext_noop("act on jobs of others")
    READ_OWN_OUTPUT = gettext_noop("read the output of own jobs")
    READ_ANY_OUTPUT = gettext_noop("read the output of others' jobs")
    ORDER = gettext_noop("order, change or cancel clusters")
    MANAGE_PEOPLE = gettext_noop("invite or remove people")
    READ_AUDIT = gettext_noop("read the audit trail")
    NAME_OWNERS = gettext_noop("name owners")
    CHANGE_SETTINGS = gettext_noop("change the tenant's settings")
    TERMINATE = gettext_noop("terminate a cluster")
    USE_KUBERNETES = gettext_noop("get or revoke kubeconfigs")


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
            _("This API token may not %(do)s.") % {"do": _(action.value)},
            hint=_("Make a token with a scope that allows it."),
        )
    raise NotAllowed(
        _("Your role may not %(do)s.") % {"do": _(action.value)},
        hint=_("Ask an owner or admin of your tenant to do it."),
    )
