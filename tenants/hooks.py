"""What upper layers want to be told, inside the transaction of the command that did it."""

from __future__ import annotations

from collections.abc import Callable

from tenants.models import Membership

# Called after a membership began, changed its role or ended; register in AppConfig.ready.
membership_changed: list[Callable[[Membership], None]] = []


def tell_membership_changed(membership: Membership) -> None:
    """Call all of them; an error undoes the command."""
    for hook in membership_changed:
        hook(membership)
