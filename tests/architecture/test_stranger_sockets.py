"""Every WebSocket address, opened by a stranger after its owner was served there.

Walks the socket addresses; one without a builder in SOCKETS of tests/<app>/routes.py fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings

from portal.asgi import application
from portal.web.sockets import urlpatterns
from tests.architecture.routes import World
from tests.sockets import Socket

pytestmark = pytest.mark.matrix
TOPICS = "live-socket"  # opened for each live kind by test_stranger.py
NAMES = [str(pattern.name) for pattern in urlpatterns]


def described() -> dict[str, tuple[Callable[[World], str], Callable[[World], AbstractContextManager[None]]]]:
    """Name of an address: what follows /ws/t/<slug>/, and what prepares the answer."""
    joined: dict[str, Any] = {}
    for app in ("tenants", "clusters", "jobs", "portal"):
        with contextlib.suppress(ModuleNotFoundError):
            joined |= getattr(import_module(f"tests.{app}.routes"), "SOCKETS", {})
    return joined


SOCKETS = described()


def test_every_socket_has_a_name_and_a_builder() -> None:
    assert "None" not in NAMES
    assert sorted({*NAMES} - {*SOCKETS, TOPICS}) == [], "add it to SOCKETS in tests/<app>/routes.py"
    assert sorted({*SOCKETS} - {*NAMES}) == [], "a builder for an address that is gone"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", sorted(SOCKETS))
async def test_a_socket_is_for_its_members_only(name: str) -> None:
    world, rest, cookies = await database_sync_to_async(_prepare)(name)
    served = ("owner", world.tenant.slug, None)
    refused = [("stranger", world.tenant.slug, 4401), ("operator", world.tenant.slug, 4401)]
    refused += [("anonymous", world.tenant.slug, 4401), ("stranger", "boreas", 4404)]
    with SOCKETS[name][1](world):
        for who, slug, code in (served, *refused, served):
            headers = [(b"origin", settings.SOCKET_ORIGINS[0].encode()), (b"cookie", cookies[who])]
            socket = Socket(application, f"/ws/t/{slug}/{rest}", headers)
            assert await socket.connect()
            if code is None:
                assert await socket.receive_text()
            else:
                assert await socket.receive_close() == code, who
            await socket.disconnect()


def _prepare(name: str) -> tuple[World, str, dict[str, bytes]]:
    world = World()
    rest = SOCKETS[name][0](world)
    key = settings.SESSION_COOKIE_NAME
    cookies = {
        who: f"{key}={world.client(who).cookies[key].value}".encode()
        for who in ("owner", "stranger", "operator")
    }
    return world, rest, cookies | {"anonymous": b"theme=dark"}
