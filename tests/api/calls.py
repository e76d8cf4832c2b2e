"""How the generated tests reach each operation of the API: one Call by its name in the schema.

Each app describes its own in tests/<app>/api/calls.py:

    CALLS: dict[str, Call] = {
        "orders_list": Call(),
        "order_cancel": Call(order_of, roles=ADMINS, scopes={"orders"}),
    }

An operation without a Call fails. `roles` are those who succeed and `scopes` those of which a token needs
one; the others get 403.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.http.response import HttpResponseBase
from django.test import Client

from portal.lib import clock
from portal.lib.types import JSONDict
from portal.web.api import schema_document
from tenants.models import Membership, Tenant, User
from tenants.scopes import SCOPES, useful_scopes
from tenants.services.tokens import create_token
from tests.architecture.routes import VIEWERS, World
from tests.builders import actor_for, make_tenant

ALL = frozenset(SCOPES)
APPS = ("tenants", "clusters", "jobs")


def _nothing(world: World) -> JSONDict:
    return {}


@dataclass(frozen=True)
class Call:
    """One operation: arguments of its address beside the tenant's slug, what to send, who succeeds."""

    kwargs: Callable[[World], JSONDict] = _nothing
    body: Callable[[World], JSONDict] | None = None
    query: str = ""
    roles: frozenset[str] = VIEWERS
    scopes: frozenset[str] = ALL
    ok: int = 200
    around: Callable[[World], Any] | None = None


@dataclass(frozen=True)
class Operation:
    """One operation of the schema."""

    name: str
    method: str
    path: str
    keyed: bool
    facts: JSONDict

    @property
    def in_tenant(self) -> bool:
        """Whether its address names a tenant."""
        return "{tenant}" in self.path


def operations() -> Iterator[Operation]:
    """Every operation of the schema."""
    for path, item in schema_document()["paths"].items():
        for method, facts in item.items():
            names = {parameter["name"] for parameter in facts.get("parameters", [])}
            yield Operation(facts["operationId"], method, path, "Idempotency-Key" in names, facts)


OPERATIONS = {operation.name: operation for operation in operations()}


def all_calls() -> dict[str, Call]:
    """The tables of all apps joined."""
    joined: dict[str, Call] = {}
    for app in APPS:
        joined |= import_module(f"tests.{app}.api.calls").CALLS
    return joined


def make_token(
    user: User, tenant: Tenant, scopes: Iterable[str] | None = None, *, days: int = 30, name: str = "robot"
) -> str:
    """The text of a token of this member; with every scope of use to the role unless told otherwise."""
    membership = Membership.objects.get(tenant=tenant, user=user, ended_at=None)
    wanted = useful_scopes(membership.role) if scopes is None else list(scopes)
    end = clock.now() + dt.timedelta(days=days)
    return create_token(actor=actor_for(user, tenant), name=name, scopes=wanted, expires_at=end)[1]


def token_of(world: World, who: str) -> str:
    """A token of this person of the world; strangers and the operator have one of another tenant."""
    if who in {"stranger", "operator"}:
        slug = "boreas" if who == "stranger" else "provider"
        tenant = Tenant.objects.filter(slug=slug).first()
        return make_token(
            world.people[who], tenant or make_tenant("Provider", owner=world.people[who], slug=slug)
        )
    return make_token(world.people[who], world.tenant)


def send(
    token: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    key: str | None = None,
    client: Client | None = None,
    **headers: str,
) -> Any:
    """What the API answers; a new Idempotency-Key for "new"."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    if key is not None:
        sent["Idempotency-Key"] = str(uuid.uuid4()) if key == "new" else key
    options: dict[str, Any] = {} if body is None else {"data": body, "content_type": "application/json"}
    answer: HttpResponseBase = getattr(client or Client(), method)(path, headers=sent, **options)
    return answer


def perform(world: World, call: Call, operation: Operation, token: str, client: Client | None = None) -> Any:
    """The operation as its Call says, asked with this token."""
    path = operation.path.replace("{tenant}", world.tenant.slug)
    for name, value in call.kwargs(world).items():
        path = path.replace("{id}" if name == "pk" else f"{{{name}}}", str(value))
    body = call.body(world) if call.body else None
    key = "new" if operation.keyed else None
    return send(token, operation.method, path + call.query, body, key=key, client=client)
