"""The live socket: fragments for who may see them, checked afresh, and nothing for anyone else."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from portal.asgi import application
from tenants.live import consumer, fragments
from tenants.live.kinds import MEMBERS
from tenants.live.topics import publish, version_of
from tenants.models import Membership, Role, Tenant, User
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.sockets import Socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.matrix]
Sync = Callable[..., Any]


class World:
    """A tenant with an owner and a member, and their browsers."""

    def __init__(self) -> None:
        cache.clear()
        self.ada = make_user("Ada")
        self.tenant = make_tenant("Aurora", owner=self.ada)
        self.rui = make_member(self.tenant, user=make_user("Rui"))
        self.olga = make_user("Olga")
        self.other = make_tenant("Boreas", owner=self.olga)

    def cookie(self, user: User) -> str:
        client = sign_in(Client(), user)
        return str(client.cookies[settings.SESSION_COOKIE_NAME].value)

    def change(self) -> None:
        """Something that the members' region shows."""
        with transaction.atomic():
            make_member(self.tenant, Role.VIEWER)
            publish(MEMBERS.topic(self.tenant))


async def sync(work: Sync, *args: Any) -> Any:
    return await database_sync_to_async(work)(*args)


@pytest.fixture
async def world() -> World:
    made: World = await sync(World)
    return made


@asynccontextmanager
async def opened(
    world: World,
    user: User | None,
    *,
    topics: list[str] | None = None,
    slug: str = "aurora",
    origin: str = "http://testserver",
) -> AsyncIterator[Socket]:
    headers = [(b"origin", origin.encode())]
    if user is not None:
        value = await sync(world.cookie, user)
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={value}".encode()))
    query = "&".join(
        f"topic={topic}" for topic in ([f"members:{world.tenant.pk}:0"] if topics is None else topics)
    )
    socket = Socket(application, f"/ws/t/{slug}/?{query}", headers)
    try:
        yield socket
    finally:
        await socket.disconnect()


async def test_a_change_reaches_the_page_as_the_same_fragment(world: World) -> None:
    async with opened(world, world.ada) as socket:
        assert await socket.connect()
        assert await socket.is_quiet(0.3)
        await sync(world.change)
        html = await socket.receive_text()
        assert html.startswith(f'<div class="stack-l" id="live-members-{world.tenant.pk.hex}"')
        assert 'hx-swap-oob="true"' in html
        assert "Viewer" in html
        assert r"\&quot;1-en\&quot;" in html


async def test_changes_of_a_moment_are_one_delivery(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "GATHER", 2.0)
    async with opened(world, world.ada) as socket:
        await socket.connect()
        assert await socket.is_quiet(0.5)  # subscribed, and nothing to heal
        for _ in range(5):
            await sync(world.change)
        html = await socket.receive_text()
        assert html.count('<td data-label="Role">Viewer</td>') == 5
        assert await socket.is_quiet(2.5)


@pytest.mark.parametrize(("shown", "heals"), [("0", True), ("1", False), ("", True)])
async def test_what_was_lost_before_the_socket_opened_is_sent_at_connect(
    world: World, shown: str, heals: bool
) -> None:
    await sync(world.change)
    topic = f"members:{world.tenant.pk}" + (f":{shown}" if shown else "")
    async with opened(world, world.ada, topics=[topic]) as socket:
        await socket.connect()
        if heals:
            assert "Viewer" in await socket.receive_text()
        assert await socket.is_quiet(0.3)


async def test_nobody_and_strangers_are_told_to_sign_in(world: World) -> None:
    async with opened(world, world.ada) as socket:
        assert await socket.connect()
        assert await socket.is_quiet(0.2)
    for person in (None, world.olga):
        async with opened(world, person) as socket:
            assert await socket.connect()
            assert await socket.receive_close() == 4401


@pytest.mark.parametrize("what", ["unknown kind", "another tenant's object", "no such object", "nonsense"])
async def test_topics_that_are_not_visible_are_refused(world: World, what: str) -> None:
    good = f"members:{world.tenant.pk}:0"
    bad = {
        "unknown kind": f"nothing:{world.tenant.pk}",
        "another tenant's object": f"members:{world.other.pk}",
        "no such object": f"members:{uuid.uuid4()}",
        "nonsense": "members:zzz",
    }
    topics = [bad[what]]
    async with opened(world, world.ada, topics=topics) as socket:
        await socket.connect()
        assert await socket.receive_close() == 4404
    async with opened(world, world.ada, topics=[*topics, good]) as socket:
        await socket.connect()
        await sync(world.change)
        assert "Viewer" in await socket.receive_text()


async def test_another_tenants_changes_are_not_heard(world: World) -> None:
    async with opened(world, world.olga, slug="boreas", topics=[f"members:{world.other.pk}:0"]) as socket:
        await socket.connect()
        await sync(world.change)
        assert await socket.is_quiet(0.6)
        await sync(_change, world.other)
        assert "Viewer" in await socket.receive_text()


@pytest.mark.parametrize("how", ["membership", "suspension", "session", "person", "tenant"])
@pytest.mark.parametrize("when", ["at a delivery", "without one"])
async def test_who_loses_the_right_gets_nothing_more(
    world: World, how: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if when == "without one":
        monkeypatch.setattr(consumer, "CHECK_EVERY", 0.1)
    async with opened(world, world.rui) as socket:
        await socket.connect()
        await sync(_take_away, world, how)
        if when == "at a delivery":
            await sync(world.change)
        assert await socket.receive_close() == 4401


async def test_a_page_with_nothing_live_hears_when_its_reader_may_stay_no_longer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "CHECK_EVERY", 0.1)
    async with opened(world, world.rui, topics=[]) as socket:
        assert await socket.connect()
        await sync(world.change)
        assert await socket.is_quiet(0.6)
        await sync(_take_away, world, "membership")
        assert await socket.receive_close() == 4401


async def test_another_role_gets_its_own_fragment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CHECK_EVERY", 0.1)
    async with opened(world, world.rui) as socket:
        await socket.connect()
        await sync(world.change)
        assert "Invitations" not in await socket.receive_text()
        await sync(lambda: Membership.objects.filter(user=world.rui).update(role="admin"))
        assert "Invitations" in await socket.receive_text()


async def test_a_client_that_talks_is_closed(world: World) -> None:
    async with opened(world, world.ada) as socket:
        await socket.connect()
        await socket.send_text("subscribe")
        assert await socket.receive_close() == 4400


async def test_other_origins_are_refused(world: World) -> None:
    async with opened(world, world.ada) as socket:
        assert await socket.connect()
    for origin in ("http://evil.example", "http://testserver.evil.example", "http://testserver:81", "null"):
        async with opened(world, world.ada, origin=origin) as socket:
            assert not await socket.connect()


async def test_a_fragment_is_rendered_once_for_all_viewers_of_a_role(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str | None] = []
    real = fragments.render_fragment

    def counting(*args: Any, **kwargs: Any) -> str:
        rendered.append(args[1].role)
        return real(*args, **kwargs)

    monkeypatch.setattr(fragments, "render_fragment", counting)
    second = await sync(make_member, world.tenant)
    async with (
        opened(world, world.rui) as one,
        opened(world, second) as two,
        opened(world, world.ada) as three,
    ):
        for socket in (one, two, three):
            await socket.connect()
        await sync(world.change)
        texts = [await socket.receive_text() for socket in (one, two, three)]
    assert sorted(str(role) for role in rendered) == ["member", "owner"]
    assert texts[0] == texts[1] != texts[2]


async def test_a_dead_cache_does_not_stop_delivery(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(*args: Any) -> None:
        raise ConnectionError("no Redis")

    async with opened(world, world.ada) as socket:
        await socket.connect()
        monkeypatch.setattr(cache, "get", dead)
        monkeypatch.setattr(cache, "set", dead)
        await sync(world.change)
        assert "Viewer" in await socket.receive_text()


async def test_a_change_that_is_rolled_back_is_not_told(world: World) -> None:
    async with opened(world, world.ada) as socket:
        await socket.connect()
        await sync(_change_and_fail, world)
        assert await socket.is_quiet(0.5)
        assert await sync(version_of, MEMBERS.topic(world.tenant)) == 0
        await sync(world.change)
        assert await socket.receive_text()


async def test_twenty_topics_at_most(world: World) -> None:
    many = [f"members:{uuid.uuid4()}" for _ in range(20)]
    async with opened(world, world.ada, topics=[*many, f"members:{world.tenant.pk}"]) as socket:
        await socket.connect()
        assert await socket.receive_close() == 4404


def _change(tenant: Tenant) -> None:
    with transaction.atomic():
        make_member(tenant, Role.VIEWER)
        publish(MEMBERS.topic(tenant))


def _change_and_fail(world: World) -> None:
    try:
        with transaction.atomic():
            world.change()
            raise ValueError
    except ValueError:
        return


def _take_away(world: World, how: str) -> None:
    if how == "membership":
        Membership.objects.filter(user=world.rui).update(ended_at=world.tenant.created_at)
    elif how == "suspension":
        Membership.objects.filter(user=world.rui).update(suspended_at=world.tenant.created_at)
    elif how == "session":
        User.objects.filter(pk=world.rui.pk).update(session_salt="another")
    elif how == "person":
        User.objects.filter(pk=world.rui.pk).update(is_active=False)
    else:
        Tenant.objects.filter(pk=world.tenant.pk).update(suspended_at=world.tenant.created_at)
