"""A Redis that is killed and comes back: open sockets hear of changes again, without a new connection."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings as current
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from portal.asgi import application
from tenants.live import sender
from tenants.live.kinds import MEMBERS
from tenants.live.topics import publish
from tenants.models import Role, Tenant
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.fixtures.servers import die_with_parent
from tests.sockets import Socket

LOSSES = 4
RECOVERS = 30.0  # seconds: by then a page would ask by itself
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class Private:
    """A Redis of this test alone, on a Unix socket."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        server = shutil.which("redis-server")
        assert server is not None
        command = [
            server,
            "--port",
            "0",
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        with (self._folder / "log").open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509  (it does nothing but one call)
            )
        end = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < end, "Redis does not start"
            time.sleep(0.02)

    def kill(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._child.wait(10)

    def subscribers(self) -> int:
        """Connections that are subscribed to anything."""
        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            return sum(int(one["sub"]) > 0 for one in client.client_list())

    def _answers(self) -> bool:
        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False


@contextmanager
def running(folder: Path) -> Iterator[Private]:
    server = Private(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def own_sender(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What changes is told by a thread of this test alone: its connection ends with the test's Redis."""
    monkeypatch.setattr(sender, "_sender", None)
    yield
    if sender._sender is not None:
        sender._sender.close()


@pytest.fixture
async def server(tmp_path: Path, settings: Settings, own_sender: None) -> AsyncIterator[Private]:
    """The channel layer as it is configured, but on a Redis that may be killed."""
    layer: Any = current.CHANNEL_LAYERS["default"]
    with running(tmp_path) as private:
        host = layer["CONFIG"]["hosts"][0] | {"address": f"unix://{private.socket}"}
        settings.CHANNEL_LAYERS = {"default": layer | {"CONFIG": layer["CONFIG"] | {"hosts": [host]}}}
        yield private
        await get_channel_layer().flush()  # its connections belong to the loop of this test, which ends now


async def test_a_socket_hears_of_changes_again_after_redis_was_killed(server: Private) -> None:
    tenant, cookie = await database_sync_to_async(_prepare)()
    socket = await _open(tenant, cookie)
    await database_sync_to_async(_change)(tenant)
    assert "Viewer" in await socket.receive_text()
    server.kill()
    await database_sync_to_async(_change)(tenant)  # is committed, and told to nobody
    assert await socket.is_quiet(1.0)
    server.start()
    began = time.monotonic()
    while time.monotonic() - began < RECOVERS:
        await database_sync_to_async(_change)(tenant)
        if not await socket.is_quiet(0.8):
            break
    assert "Viewer" in await socket.receive_text()
    assert time.monotonic() - began < RECOVERS
    await socket.disconnect()


async def test_a_page_that_opens_while_redis_is_dead_is_closed_and_may_come_back(server: Private) -> None:
    tenant, cookie = await database_sync_to_async(_prepare)()
    server.kill()
    socket = Socket(application, _address(tenant), _headers(cookie))
    with pytest.raises(redis.ConnectionError):
        await socket.connect()  # the server ends the connection; the page tries again, and polls meanwhile
    server.start()
    again = await _open(tenant, cookie)
    await database_sync_to_async(_change)(tenant)
    assert "Viewer" in await again.receive_text()
    await again.disconnect()


async def test_the_first_page_after_a_restart_of_redis_opens(server: Private) -> None:
    tenant, cookie = await database_sync_to_async(_prepare)()
    first = await _open(tenant, cookie)
    await first.disconnect()  # nobody listens while Redis goes, so nobody notices
    server.kill()
    server.start()
    again = await _open(tenant, cookie)
    await database_sync_to_async(_change)(tenant)
    assert "Viewer" in await again.receive_text()
    await again.disconnect()


async def test_losses_leave_no_connection_behind_and_no_channel_unheard(server: Private) -> None:
    layer: Any = get_channel_layer()
    names = [await layer.new_channel()]
    before = _sockets()
    for _ in range(LOSSES):
        server.kill()
        server.start()  # in one go: who listens and who asks find out at the same time
        names += await asyncio.gather(layer.new_channel(), layer.new_channel())
        for name in names:
            await _hears(layer, name)
        assert server.subscribers() == 1
    assert _sockets() <= before + 1  # the one that sends


def _sockets() -> int:
    """Open ones of this process."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the listing itself
            found += link.readlink().name.startswith("socket:")
    return found


async def _hears(layer: Any, name: str) -> None:
    """What is sent to a channel comes out of it, once it is subscribed again."""
    receiving = asyncio.ensure_future(layer.receive(name))
    end = time.monotonic() + RECOVERS
    while not receiving.done():
        assert time.monotonic() < end, "a channel is lost"
        await layer.send(name, {"type": "note", "to": name})
        await asyncio.wait([receiving], timeout=0.2)
    assert (await receiving)["to"] == name


def _prepare() -> tuple[Tenant, str]:
    cache.clear()
    ada = make_user("Ada")
    client = sign_in(Client(), ada)
    return make_tenant("Aurora", owner=ada), str(client.cookies[current.SESSION_COOKIE_NAME].value)


def _change(tenant: Tenant) -> None:
    with transaction.atomic():
        make_member(tenant, Role.VIEWER)
        publish(MEMBERS.topic(tenant))


def _address(tenant: Tenant) -> str:
    return f"/ws/t/aurora/?topic=members:{tenant.pk}:0"


def _headers(cookie: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"origin", current.SOCKET_ORIGINS[0].encode()),
        (b"cookie", f"{current.SESSION_COOKIE_NAME}={cookie}".encode()),
    ]


async def _open(tenant: Tenant, cookie: str) -> Socket:
    socket = Socket(application, _address(tenant), _headers(cookie))
    assert await socket.connect()
    await asyncio.wait_for(_quiet(socket), 20)
    return socket


async def _quiet(socket: Socket) -> None:
    """Subscribed, and nothing to heal."""
    assert await socket.is_quiet(0.8)
