"""Every operation of the API, asked by everyone: after its owner has succeeded with the same.

Walks the schema: an operation is covered on the day it is added, and one without a Call in
tests/<app>/api/calls.py fails.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from portal.lib import clock
from tenants.models import ApiToken
from tenants.scopes import SCOPES
from tests.api.calls import OPERATIONS, Call, all_calls, make_token, operations, perform, token_of
from tests.architecture.routes import World
from tests.cases import case

pytestmark = pytest.mark.matrix
CALLS = all_calls()
ROLES = ("viewer", "member", "admin", "owner")
OPEN = {"api-root", "api-schema", "api-docs"}  # no data, so for everyone
NOBODY = "00000000-0000-4000-8000-000000000000"
everything = pytest.mark.parametrize("name", sorted(OPERATIONS.keys() & CALLS.keys()))


def test_every_operation_has_a_call_and_a_name_of_its_own() -> None:
    assert sorted(OPERATIONS.keys() - CALLS.keys()) == [], "add a Call in tests/<app>/api/calls.py"
    assert sorted(CALLS.keys() - OPERATIONS.keys()) == [], "a Call for an operation that is gone"
    assert len(OPERATIONS) == len(list(operations()))


def test_every_address_of_the_api_is_in_the_schema_and_has_a_door() -> None:
    found = dict(walk(get_resolver().url_patterns))
    assert found.keys() > OPEN
    closed = {name: pattern for name, pattern in found.items() if name not in OPEN}
    paths = {operation.path for operation in OPERATIONS.values()}
    told = {resolve(filled(path)).url_name for path in paths}
    assert told == closed.keys()
    doors = {name: getattr(view_of(pattern), "door", "") for name, pattern in closed.items()}
    assert {name for name, door in doors.items() if door == "person"} == {"api-me", "api-my-tenants"}
    assert set(doors.values()) == {"person", "tenant"}


def walk(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Names and patterns of the API."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        elif route.startswith("api/"):
            yield str(pattern.name), pattern


def view_of(pattern: URLPattern) -> Any:
    """The class behind an address."""
    return getattr(pattern.callback, "view_class", None)


def filled(path: str) -> str:
    """The address with some tenant and id."""
    return path.replace("{tenant}", "aurora").replace("{id}", NOBODY).replace("{member}", NOBODY)


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """Takes back what is done inside, so that the next one finds the world as it was."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def prepare(world: World, call: Call) -> None:
    """Makes what the call needs, before the first savepoint would take it back."""
    call.kwargs(world)
    if call.body:
        call.body(world)


@case("U32")
@pytest.mark.django_db
@everything
def test_an_operation_is_for_members_of_its_tenant_with_a_token(name: str) -> None:
    world, call, operation = World(), CALLS[name], OPERATIONS[name]
    prepare(world, call)
    tokens = {who: token_of(world, who) for who in ("owner", "stranger", "operator")}
    ended, revoked = (make_token(world.owner, world.tenant, name=word) for word in ("ended", "revoked"))
    ApiToken.objects.filter(name="ended").update(expires_at=clock.now())
    ApiToken.objects.filter(name="revoked").update(revoked_at=clock.now())
    with call.around(world) if call.around else contextlib.nullcontext():
        with undone():
            answer = perform(world, call, operation, tokens["owner"])
            assert answer.status_code == call.ok, answer.content
        if operation.in_tenant:
            for who in ("stranger", "operator"):
                assert_problem(perform(world, call, operation, tokens[who]), 404)
        for token in ("", "fht_" + "x" * 43, "nonsense", ended, revoked):
            assert_problem(perform(world, call, operation, token), 401)
        browser = world.client("owner")  # a session opens pages, and not the API
        assert_problem(perform(world, call, operation, "", browser), 401)
        answer = perform(world, call, operation, tokens["owner"])
        assert answer.status_code == call.ok, answer.content


@pytest.mark.django_db
@everything
def test_an_operation_is_for_certain_roles_and_scopes(name: str) -> None:
    world, call, operation = World(), CALLS[name], OPERATIONS[name]
    prepare(world, call)
    by_role = {role: token_of(world, role) for role in ROLES}
    by_scope = {scope: make_token(world.owner, world.tenant, [scope], name=scope) for scope in SCOPES}
    with call.around(world) if call.around else contextlib.nullcontext():
        for role, token in by_role.items():
            with undone():
                assert_allowed(perform(world, call, operation, token), call, allowed=role in call.roles)
        for scope, token in by_scope.items():
            with undone():
                assert_allowed(perform(world, call, operation, token), call, allowed=scope in call.scopes)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(n for n, operation in OPERATIONS.items() if "{id}" in operation.path))
def test_what_does_not_exist_is_not_visible(name: str) -> None:
    world, call = World(), CALLS[name]
    missing = Call(lambda world: {"pk": NOBODY}, call.body, call.query)
    assert_problem(perform(world, missing, OPERATIONS[name], token_of(world, "owner")), 404)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/api/v1/", "/api/v1/schema/", "/api/v1/docs/"])
def test_root_schema_and_reference_are_open(address: str) -> None:
    assert Client().get(address).status_code == 200
    assert Client().post(address).status_code == 405


def assert_allowed(answer: Any, call: Call, *, allowed: bool) -> None:
    """Success, or 403 as a problem."""
    if allowed:
        assert answer.status_code == call.ok, answer.content
    else:
        assert_problem(answer, 403)


def assert_problem(answer: Any, status: int) -> None:
    """A problem of this status; with 401 also how to authenticate."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    found = json.loads(answer.content)
    assert found["status"] == status
    assert {"type", "title", "request_id"} <= found.keys()
    assert answer["Cache-Control"] == "no-store"
    assert ("WWW-Authenticate" in answer) == (status == 401)
