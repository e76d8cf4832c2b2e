"""The socket of an output: text as it comes, for who may read it at that moment, and never too much."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from jobs import live, outside
from jobs.models import Job
from jobs.output_reader.client import ReaderNotReachable
from jobs.output_reader.protocol import CHUNK, TAIL, OutputChunk, State, Stream
from jobs.web import tail
from portal.asgi import application
from portal.lib.types import JSONDict
from tenants.live.topics import publish
from tenants.models import Membership, Role, User
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster
from tests.sockets import Socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.matrix]


class World:
    """A job of Rui in Ada's tenant, the file that it writes, and Olga of another tenant."""

    def __init__(self) -> None:
        cache.clear()
        self.ada = make_user("Ada")
        self.tenant = make_tenant("Aurora", owner=self.ada)
        self.rui = make_member(self.tenant, user=make_user("Rui"))
        self.olga = make_user("Olga")
        make_tenant("Boreas", owner=self.olga)
        self.job = make_job(make_slurm_cluster(self.tenant), self.rui)
        self.data, self.reads = b"", 0
        self.state: State = "ok"
        self.fault: Exception | None = None

    def read(self, job: Job, stream: Stream, offset: int | None = None) -> OutputChunk:
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        if self.state != "ok" or stream == "stderr":
            return OutputChunk(state=self.state if stream == "stdout" else "same")
        size = len(self.data)
        start = max(0, size - TAIL) if offset is None or offset > size else offset
        return OutputChunk(state="ok", size=size, offset=start, data=self.data[start : start + CHUNK])

    def cookie(self, user: User) -> str:
        return str(sign_in(Client(), user).cookies[settings.SESSION_COOKIE_NAME].value)


async def sync(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return await database_sync_to_async(work)(*args, **kwargs)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made: World = await sync(World)
    monkeypatch.setattr(outside, "read_output", made.read)
    monkeypatch.setattr(tail, "EVERY", 0.05)
    return made


@asynccontextmanager
async def opened(
    world: World, user: User | None, query: str = "", *, slug: str = "aurora", job: Job | None = None
) -> AsyncIterator[Socket]:
    headers = [(b"origin", b"http://testserver")]
    if user is not None:
        value = await sync(world.cookie, user)
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={value}".encode()))
    socket = Socket(application, f"/ws/t/{slug}/jobs/{(job or world.job).pk}/output/?{query}", headers)
    assert await socket.connect()
    try:
        yield socket
    finally:
        await socket.disconnect()


async def told(socket: Socket) -> JSONDict:
    message: JSONDict = json.loads(await socket.receive_text())
    return message


@case("U21")
async def test_what_the_job_writes_is_sent_as_it_comes(world: World) -> None:
    world.data = b"one\ntwo\nhal"
    async with opened(world, world.rui) as socket:
        first = await told(socket)
        assert (first["lines"], first["last"], first["replace"]) == ("one\ntwo\n", "hal", True)
        assert await socket.is_quiet(0.3), "the same is not sent twice"
        world.data += b"f\nthree"
        second = await told(socket)
        assert (second["lines"], second["last"], second["replace"]) == ("half\n", "three", False)
        world.data += b"\n"
        await sync(Job.objects.update, state="COMPLETED")
        lines, over = "", False
        while not over:
            message = await told(socket)
            lines, over = lines + message["lines"], message["over"]
        assert lines == "three\n"
        assert await socket.receive_close() == 1000


async def test_it_goes_on_where_the_page_stands(world: World) -> None:
    world.data = b"shown already\nnew\n"
    async with opened(world, world.rui, "offset=14&shown=14") as socket:
        message = await told(socket)
        assert (message["lines"], message["replace"], message["offset"]) == ("new\n", False, 18)
    world.data = b"anew\n"
    async with opened(world, world.rui, "offset=18&shown=18") as socket:
        message = await told(socket)
        assert (message["lines"], message["replace"]) == ("anew\n", True), "the file became shorter"


async def test_a_job_that_starts_is_shown_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "EVERY", 60)
    await sync(Job.objects.update, state="PENDING")
    async with opened(world, world.rui) as socket:
        assert "has not started" in (await told(socket))["said"]
        world.data = b"begun\n"
        await sync(_start, world.job)
        message = await told(socket)
        assert (message["lines"], message["said"]) == ("begun\n", "")


def _start(job: Job) -> None:
    with transaction.atomic():
        Job.objects.update(state="RUNNING")
        publish(live.job(job))


@case("U21")
async def test_hostile_bytes_come_as_plain_text_in_messages_with_a_bound(world: World) -> None:
    world.data = (
        b"<script>alert(1)</script>\n10%\r20%\r30%\n\x1b[31mred\x1b[0m \xff\n\x1b]0;title\x07x\xe2\x80\xae\n"
    )
    async with opened(world, world.rui) as socket:
        lines = (await told(socket))["lines"]
        assert lines == "<script>alert(1)</script>\n30%\nred \ufffd\nx\n"
    start = len(world.data)
    for rubbish in (b"\xff" * 300_000, b'"\\' * 150_000, b"\0\x1b" * 150_000, b"\t\n" * 150_000):
        world.data = world.data[:start] + rubbish + b"\nend\n"
        async with opened(world, world.rui, f"offset={start}&shown=1") as socket:
            lines = ""
            while not lines.endswith("end\n"):
                text = await socket.receive_text()
                assert len(text.encode()) <= 256 * 1024
                lines = json.loads(text)["lines"]


async def test_a_progress_bar_that_is_written_over_stays_one_line(world: World) -> None:
    world.data = b"begin\n"
    async with opened(world, world.rui) as socket:
        assert (await told(socket))["lines"] == "begin\n"
        shown = ""
        for step in range(1, 1001):
            world.data += b"\r%3d%% |%s|" % (step // 10, b"#" * (step // 20))
            if step % 250 == 0:
                message = await told(socket)
                assert message["lines"] == ""
                shown = message["last"]
        while not shown.startswith("100%"):
            shown = (await told(socket))["last"]
        world.data += b"\ndone\n"
        message = await told(socket)
        assert message["lines"] == f"100% |{'#' * 50}|\ndone\n"


async def test_without_text_it_says_why_and_a_reader_that_is_away_is_asked_again(world: World) -> None:
    world.state = "missing"
    async with opened(world, world.rui, "stream=nonsense") as socket:
        assert "Not there yet" in (await told(socket))["said"]
        world.fault = ReaderNotReachable()
        assert "cannot be read at the moment" in (await told(socket))["said"]
        world.fault, world.state, world.data = None, "ok", b"there\n"
        assert (await told(socket))["lines"] == "there\n"
    async with opened(world, world.rui, "stream=stderr") as socket:
        assert "Same as output" in (await told(socket))["said"]


@pytest.mark.parametrize(
    ("who", "slug", "code"),
    [
        ("nobody", "aurora", 4401),
        ("olga", "aurora", 4401),
        ("olga", "boreas", 4404),
        ("member", "aurora", 4403),
        ("viewer", "aurora", 4403),
    ],
)
async def test_it_is_for_the_owner_of_the_job_and_admins(
    world: World, who: str, slug: str, code: int
) -> None:
    world.data = b"secret\n"
    for person in (world.rui, world.ada, await sync(make_member, world.tenant, Role.ADMIN)):
        async with opened(world, person) as socket:
            assert (await told(socket))["lines"] == "secret\n"
    reads = world.reads
    person = None if who == "nobody" else world.olga if who == "olga" else None
    if who in {"member", "viewer"}:
        person = await sync(make_member, world.tenant, Role(who))
    async with opened(world, person, slug=slug) as socket:
        assert await socket.receive_close() == code
    assert world.reads == reads, "nothing was read for them"


@pytest.mark.parametrize(("how", "code"), [("membership", 4401), ("session", 4401), ("role", 4403)])
async def test_who_loses_the_right_gets_nothing_more(world: World, how: str, code: int) -> None:
    helper = await sync(make_member, world.tenant, Role.ADMIN)
    async with opened(world, helper) as socket:
        await told(socket)
        await sync(_take_away, world, helper, how)
        world.data += b"secret\n"
        answers = [await socket.receive_output(5)]
        if answers[-1]["type"] == "websocket.send":  # a read that was under way at that moment
            answers.append(await socket.receive_output(5))
        assert answers[-1] == {"type": "websocket.close", "code": code}


def _take_away(world: World, person: User, how: str) -> None:
    mine = Membership.objects.filter(user=person)
    if how == "membership":
        mine.update(ended_at=world.tenant.created_at)
    elif how == "role":
        mine.update(role=Role.MEMBER)
    else:
        User.objects.filter(pk=person.pk).update(session_salt="another")


async def test_four_tails_at_most_for_one_person(world: World) -> None:
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(opened(world, world.rui)) for _ in range(4)]
        for socket in sockets:
            await told(socket)
        async with opened(world, world.rui) as fifth:
            assert await fifth.receive_close() == 4429
        async with opened(world, world.ada) as other:
            assert await told(other)
        await sockets[0].disconnect()
        async with opened(world, world.rui) as again:
            assert await told(again), "a place that was left is free"


async def test_a_client_that_talks_is_closed_and_nothing_is_read_for_who_left(world: World) -> None:
    async with opened(world, world.rui) as socket:
        await told(socket)
        await socket.send_text("more")
        assert await socket.receive_close() == 4400
    await asyncio.sleep(0)
    reads = world.reads
    async with opened(world, world.ada) as socket:
        await told(socket)
        assert world.reads == reads + 1
