"""How the generated stranger test reaches each address: a world, and one Route per name.

Each app describes its own in tests/<app>/routes.py:

    ROUTES: dict[str, Route] = {
        "orders": Route(),
        "order": Route(lambda world: {"pk": world.make(make_order, world.tenant).pk}),
        "order-cancel": Route(order_of, method="post", roles=ADMINS),
    }
    ROWS: dict[str, Callable[[World], Model]] = {"order": lambda world: world.make(make_order, world.tenant)}

`roles` are those who succeed; the other members get 403. ROWS gives a row for each live kind.
An address or a kind without an entry fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.test import Client

from portal.lib.types import JSONDict
from tenants.models import Role, User
from tests.builders import make_member, make_operator, make_tenant, make_user, sign_in

Made = TypeVar("Made")
VIEWERS = frozenset({"viewer", "member", "admin", "owner"})
MEMBERS = frozenset({"member", "admin", "owner"})
ADMINS = frozenset({"admin", "owner"})
OWNERS = frozenset({"owner"})


class World:
    """Two tenants: one with a person of each role, another with the stranger; and an operator of neither."""

    def __init__(self) -> None:
        self.owner = make_user("Ada")
        self.tenant = make_tenant("Aurora", owner=self.owner)
        self.people: dict[str, User] = {"owner": self.owner}
        for role in (Role.ADMIN, Role.MEMBER, Role.VIEWER):
            self.people[role.value] = make_member(self.tenant, role)
        self.people["stranger"] = make_user("Olga")
        make_tenant("Boreas", owner=self.people["stranger"])
        self.people["operator"] = make_operator()
        self._made: dict[tuple[Any, ...], Any] = {}

    def make(self, builder: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
        """What the builder makes, once in this world for the same arguments."""
        key = (builder, *(str(arg) for arg in args), *sorted(kwargs.items()))
        if key not in self._made:
            self._made[key] = builder(*args, **kwargs)
        made: Made = self._made[key]
        return made

    def client(self, who: str) -> Client:
        """A browser of this person; of nobody for "anonymous"."""
        return Client() if who == "anonymous" else sign_in(Client(), self.people[who])


def _nothing(world: World) -> JSONDict:
    return {}


@dataclass(frozen=True)
class Route:
    """One address: its arguments beside the tenant's slug, what to send, and who succeeds."""

    kwargs: Callable[[World], JSONDict] = _nothing
    method: str = "get"
    data: Callable[[World], JSONDict] = _nothing
    roles: frozenset[str] = VIEWERS
    ok: frozenset[int] = frozenset({200, 302})
    headers: dict[str, str] = field(default_factory=dict)
    # prepares what the answer needs, e.g. replaces an outside system for the time of the request
    around: Callable[[World], Any] | None = None
