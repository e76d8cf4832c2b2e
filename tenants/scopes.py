"""What the scopes of an API token allow: one table. A token's rights are these and its person's, both."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tenants.rights import RIGHTS, Action

if TYPE_CHECKING:
    from tenants.models import Membership

_LOOKS = frozenset({Action.VIEW})
SCOPES: Mapping[str, frozenset[Action]] = MappingProxyType(
    {
        "read": _LOOKS | {Action.READ_OWN_OUTPUT, Action.READ_ANY_OUTPUT, Action.READ_AUDIT},
        "jobs": _LOOKS
        | {Action.SUBMIT_JOB, Action.ACT_ON_OWN_JOB, Action.ACT_ON_ANY_JOB, Action.READ_OWN_OUTPUT},
        "orders": _LOOKS | {Action.ORDER, Action.TERMINATE},
        "people": _LOOKS | {Action.MANAGE_PEOPLE, Action.NAME_OWNERS, Action.CHANGE_SETTINGS, Action.LEAVE},
        "kubernetes": _LOOKS | {Action.USE_KUBERNETES},
    }
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What an API token lends its person: one membership that works, and at most these actions."""

    token_id: uuid.UUID
    name: str
    membership: Membership
    actions: frozenset[Action]


def actions_of(scopes: Iterable[str]) -> frozenset[Action]:
    """What these scopes allow together; one that we no longer know allows nothing."""
    found: frozenset[Action] = frozenset()
    for scope in scopes:
        found |= SCOPES.get(scope, frozenset())
    return found


def useful_scopes(role: str) -> list[str]:
    """The scopes of which this role can use more than the look that every token has."""
    return [name for name, actions in SCOPES.items() if name == "read" or (actions - _LOOKS) & RIGHTS[role]]
