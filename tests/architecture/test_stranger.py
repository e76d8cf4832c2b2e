"""Every address and every live topic, visited by a stranger, after its owner has succeeded with the same.

Walks the URLconf and the registry of live kinds: what is new is covered on the day it is added, and
what has no builder in tests/<app>/routes.py fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import models
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from portal.asgi import application
from tenants.live.registry import KINDS
from tenants.rights import RIGHTS
from tests.architecture.routes import Route, World
from tests.sockets import Socket

pytestmark = pytest.mark.matrix
APPS = ("tenants", "clusters", "jobs", "portal")
ADMIN = "operations/"
API = "api/"  # walked by test_api_stranger.py
TENANT = "t/<slug:tenant>/"
# Addresses outside a tenant: open to all, or for a signed-in person, who sees only what is theirs.
PUBLIC = {"home", "health", "language", "signin", "callback", "signout", "invitation-open", "styleguide"}
PUBLIC |= {"mailbox", "invited", "demo-terms"}
PERSONAL = {"welcome", "invitation"}


def walk(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every pattern with its whole route."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        else:
            yield route, pattern


EVERYTHING = list(walk(get_resolver().url_patterns))
INSIDE = {str(found.name): found for route, found in EVERYTHING if route.startswith(TENANT)}
OUTSIDE = [(route, found) for route, found in EVERYTHING if not route.startswith((TENANT, ADMIN, API))]


def described(what: str) -> dict[str, Any]:
    """The tables of all apps joined."""
    joined: dict[str, Any] = {}
    for app in APPS:
        with contextlib.suppress(ModuleNotFoundError):
            joined |= getattr(import_module(f"tests.{app}.routes"), what, {})
    return joined


ROUTES: dict[str, Route] = described("ROUTES")
ROWS: dict[str, Any] = described("ROWS")


def test_every_address_in_a_tenant_has_a_name_a_builder_and_the_door() -> None:
    assert "None" not in INSIDE
    assert sorted(INSIDE.keys() - ROUTES.keys()) == [], "add a Route in tests/<app>/routes.py"
    assert sorted(ROUTES.keys() - INSIDE.keys()) == [], "a Route for an address that is gone"
    without = [name for name, found in INSIDE.items() if getattr(found.callback, "door", "") != "tenant"]
    assert without == [], "decorate the view with @in_tenant"


def test_every_address_outside_a_tenant_is_known() -> None:
    assert {str(found.name) for _, found in OUTSIDE} <= PUBLIC | PERSONAL
    doors = {str(found.name): getattr(found.callback, "door", "") for _, found in OUTSIDE}
    assert {name for name, door in doors.items() if door == "person"} == PERSONAL


def test_every_live_kind_has_a_row() -> None:
    assert set(KINDS) == set(ROWS), "add the kind to ROWS in tests/<app>/routes.py"


def ask(client: Client, route: Route, url: str, data: dict[str, Any]) -> HttpResponseBase:
    sent = {name: value() if callable(value) else value for name, value in data.items()}
    answer: HttpResponseBase = getattr(client, route.method)(url, sent, headers=route.headers)
    return answer


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(INSIDE.keys() & ROUTES.keys()))
def test_an_address_is_for_its_members_only(name: str) -> None:
    world, route = World(), ROUTES[name]
    url = reverse(name, kwargs={"tenant": world.tenant.slug} | route.kwargs(world))
    data = route.data(world)
    strangers = {who: world.client(who) for who in ("stranger", "operator", "anonymous")}
    owner = world.client("owner")
    with route.around(world) if route.around else contextlib.nullcontext():
        for who, client in strangers.items():
            assert_refused(who, ask(client, route, url, data))
        answer = ask(owner, route, url, data)
        assert answer.status_code in route.ok, f"the owner gets {answer.status_code} at {url}"
        for who, client in strangers.items():
            assert_refused(who, ask(client, route, url, data))


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["admin", "member", "viewer"])
@pytest.mark.parametrize("name", sorted(INSIDE.keys() & ROUTES.keys()))
def test_an_address_is_for_certain_roles(name: str, role: str) -> None:
    world, route = World(), ROUTES[name]
    url = reverse(name, kwargs={"tenant": world.tenant.slug} | route.kwargs(world))
    data = route.data(world)
    with route.around(world) if route.around else contextlib.nullcontext():
        answer = ask(world.client(role), route, url, data)
        if role in route.roles:
            assert answer.status_code in route.ok, f"{role} gets {answer.status_code} at {url}"
        else:
            assert answer.status_code == 403
            again = ask(world.client("owner"), route, url, data)
            assert again.status_code in route.ok, f"the owner gets {again.status_code} at {url}"


def assert_refused(who: str, answer: HttpResponseBase) -> None:
    """404 for people who are no members, the way to the sign-in for nobody."""
    if who != "anonymous":
        assert answer.status_code == 404, f"{who} gets {answer.status_code}"
    elif answer.status_code != 401:
        assert answer.status_code == 302
        assert answer["Location"].startswith("/signin/?next=")


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(PERSONAL))
def test_personal_pages_ask_to_sign_in(name: str) -> None:
    world = World()
    assert world.client("owner").get(reverse(name)).status_code in {200, 404}
    assert_refused("anonymous", Client().get(reverse(name)))


def admin_addresses(world: World) -> Iterator[str]:
    """Each address of the operators' site, with arguments that exist."""
    names = [str(found.name) for route, found in EVERYTHING if route.startswith(ADMIN) and found.name]
    for name in names:
        for parameters in {tuple(sorted(found)) for _, found in _ways(f"admin:{name}")}:
            known = {"app_label": "tenants", "content_type_id": 1, "url": "nothing/"}
            yield reverse(
                f"admin:{name}", kwargs={key: known.get(key, world.tenant.pk) for key in parameters}
            )


def _ways(name: str) -> Iterator[tuple[str, list[str]]]:
    """The possible texts of an address and the names of their arguments."""
    namespace, _, local = name.partition(":")
    _, resolver = get_resolver().namespace_dict[namespace]
    for possibilities, *_ in resolver.reverse_dict.getlist(local):
        yield from possibilities


@pytest.mark.django_db
def test_operations_is_for_operators_only() -> None:
    world = World()
    operator, owner, nobody = world.client("operator"), world.client("owner"), Client()
    assert operator.get("/operations/").status_code == 200
    found = list(admin_addresses(world))
    assert len(found) > 10
    for url in found:
        for client in (owner, nobody):
            for method in (client.get, client.post):
                answer = method(url)
                assert answer.status_code in {302, 403, 404, 405}, url
                if answer.status_code == 302:
                    assert answer.content == b"", url  # to the sign-in, home, or the address with its slash


@pytest.mark.django_db
@pytest.mark.parametrize("kind", sorted(KINDS.keys() & ROWS.keys()))
def test_the_poll_of_a_live_kind_is_for_its_members_only(kind: str) -> None:
    world = World()
    row: models.Model = ROWS[kind](world)
    url = reverse("live", args=[world.tenant.slug, kind, row.pk])
    own = reverse("live", args=["boreas", kind, row.pk])
    assert world.client("owner").get(url).status_code == 200
    for who in ("stranger", "operator", "anonymous"):
        assert_refused(who, world.client(who).get(url))
    assert world.client("stranger").get(own).status_code == 404
    for role in ("admin", "member", "viewer"):
        allowed = KINDS[kind].action in RIGHTS[role]
        assert world.client(role).get(url).status_code == (200 if allowed else 403)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() & ROWS.keys()))
async def test_a_topic_is_for_its_members_only(kind: str) -> None:
    world, key, cookies = await database_sync_to_async(_prepare)(kind)
    for who, slug, code in (
        ("owner", world.tenant.slug, None),
        ("stranger", world.tenant.slug, 4401),
        ("operator", world.tenant.slug, 4401),
        ("stranger", "boreas", 4404),
    ):
        headers = [(b"origin", settings.SOCKET_ORIGINS[0].encode()), (b"cookie", cookies[who])]
        socket = Socket(application, f"/ws/t/{slug}/?topic={kind}:{key}", headers)
        assert await socket.connect()
        if code is None:
            assert "hx-swap-oob" in await socket.receive_text()
        else:
            assert await socket.receive_close() == code
        await socket.disconnect()


def _prepare(kind: str) -> tuple[World, object, dict[str, bytes]]:
    world = World()
    row: models.Model = ROWS[kind](world)
    name = settings.SESSION_COOKIE_NAME
    cookies = {
        who: f"{name}={world.client(who).cookies[name].value}".encode()
        for who in ("owner", "stranger", "operator")
    }
    return world, row.pk, cookies
