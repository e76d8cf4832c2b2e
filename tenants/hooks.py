"""What upper layers want to be told, in the transaction of the command that did it, and what they know."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tenants.models import Membership, Tenant


@dataclass(frozen=True, slots=True)
class Account:
    """A member's account in a cluster, as the list of members shows it."""

    cluster: str
    name: str


# Called after a membership began, changed its role, was suspended, resumed or ended; also after its person
# was suspended or resumed. Register in AppConfig.ready.
membership_changed: list[Callable[[Membership], None]] = []
# Called after a member set other SSH keys.
keys_changed: list[Callable[[Membership], None]] = []
# Called after a whole tenant was suspended or resumed.
tenant_changed: list[Callable[[Tenant], None]] = []
# Asked for the working accounts of members, by the keys of their memberships; one query each.
accounts: list[Callable[[Collection[uuid.UUID]], Mapping[uuid.UUID, list[Account]]]] = []


def tell_membership_changed(membership: Membership) -> None:
    """Call all of them; an error undoes the command."""
    for hook in membership_changed:
        hook(membership)


def tell_keys_changed(membership: Membership) -> None:
    """Call all of them; an error undoes the command."""
    for hook in keys_changed:
        hook(membership)


def tell_tenant_changed(tenant: Tenant) -> None:
    """Call all of them; an error undoes the command."""
    for hook in tenant_changed:
        hook(tenant)


def accounts_of(memberships: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Account]]:
    """Accounts by membership, from everyone who knows some."""
    found: dict[uuid.UUID, list[Account]] = {}
    for ask in accounts:
        for key, known in ask(memberships).items():
            found.setdefault(key, []).extend(known)
    return found
