"""The socket of a page: subscribes by its address, checks the right at every delivery, sends fragments."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.cache import cache
from redis.exceptions import RedisError

from portal.lib.errors import FreeholdError
from tenants.actor import Actor
from tenants.live.fragments import render_fragment
from tenants.live.registry import KINDS, LiveKind
from tenants.live.topics import Topic, version_of
from tenants.live.viewer import actor_now
from tenants.scoping import get_visible

log = structlog.get_logger(__name__)

MOST_TOPICS = 20
GATHER = 0.25  # seconds in which changes become one delivery
CHECK_EVERY = 30.0  # seconds between looks at the right when nothing is delivered
KEEP = 120  # seconds that a rendered fragment is kept for other viewers
NOT_TALKED_TO, SIGNED_OUT, NOTHING_VISIBLE, FAILED = 4400, 4401, 4404, 1011


@dataclass(slots=True)
class Subscription:
    """One topic of the page, and the version that the page shows."""

    known: LiveKind
    topic: Topic
    version: int


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Read-only. Closes with 4401 when the right is gone, 4404 when nothing is left to show."""

    async def connect(self) -> None:
        """Accept first: a browser sees the code of a close only after that."""
        self.slug: str = self.scope["url_route"]["kwargs"]["tenant"]
        self.session_key: str | None = self.scope["session"].session_key
        self.subscriptions: dict[str, Subscription] = {}
        self.changed: set[str] = set()
        self.role: str | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.gathering = False
        await self.accept()
        wanted = _parse(self.scope["query_string"])
        self.role, found = await database_sync_to_async(_subscribe)(self.session_key, self.slug, wanted)
        if self.role is None:
            await self.close(SIGNED_OUT)
        elif not found:
            await self.close(NOTHING_VISIBLE)
        else:
            await self._join(found)

    async def _join(self, found: list[Subscription]) -> None:
        """Into the groups first, then a look at the versions: nothing can fall between the two."""
        self.subscriptions = {one.topic.name: one for one in found}
        for name in self.subscriptions:
            await self.channel_layer.group_add(name, self.channel_name)
        self.changed.update(self.subscriptions)
        await self._deliver()
        self._spawn(self._keep_checking())

    async def disconnect(self, code: int) -> None:  # noqa: ARG002  # the names are Channels'
        """Leave the groups; end what waits."""
        for task in self.tasks:
            task.cancel()
        for name in self.subscriptions:
            await self.channel_layer.group_discard(name, self.channel_name)

    async def receive(self, **_: Any) -> None:
        """Pages only listen."""
        await self.close(NOT_TALKED_TO)

    async def topic_changed(self, event: dict[str, Any]) -> None:
        """From the channel layer: note it, and deliver what gathers within a moment."""
        self.changed.add(str(event["topic"]))
        if not self.gathering:
            self.gathering = True
            self._spawn(self._deliver_soon())

    async def _deliver_soon(self) -> None:
        await asyncio.sleep(GATHER)
        self.gathering = False
        await self._deliver()

    async def _keep_checking(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY)
            await self._deliver()

    async def _deliver(self) -> None:
        """Check the right afresh, then send what changed; with nothing changed only check."""
        due = [self.subscriptions[name] for name in self.changed if name in self.subscriptions]
        self.changed.clear()
        role, sent, lost = await database_sync_to_async(_look)(
            self.session_key, self.slug, list(self.subscriptions.values()), due, self.role
        )
        if role is None:
            await self.close(SIGNED_OUT)
            return
        self.role = role
        for html in sent:
            await self.send(text_data=html)
        for name in lost:
            self.subscriptions.pop(name, None)
            await self.channel_layer.group_discard(name, self.channel_name)
        if not self.subscriptions:
            await self.close(NOTHING_VISIBLE)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("live delivery failed", error=repr(error)[:300])
            self.tasks.add(asyncio.ensure_future(self.close(FAILED)))  # the page comes back, and polls


def _parse(query: bytes) -> list[tuple[str, uuid.UUID, int]]:
    """(kind, id, version shown) of each well-formed topic, at most 20; without a version -1."""
    wanted = []
    for text in parse_qs(query.decode("ascii", "replace")).get("topic", [])[:MOST_TOPICS]:
        kind, _, rest = text.partition(":")
        key, _, version = rest.partition(":")
        try:
            wanted.append((kind, uuid.UUID(key), int(version) if version else -1))
        except ValueError:
            continue
    return wanted


def _subscribe(
    session_key: str | None, slug: str, wanted: list[tuple[str, uuid.UUID, int]]
) -> tuple[str | None, list[Subscription]]:
    """The role, and the wanted topics whose object the actor may see."""
    actor = actor_now(session_key, slug)
    if actor is None:
        return None, []
    found = []
    for kind, key, version in wanted:
        known = KINDS.get(kind)
        if known is None:
            continue
        try:
            row = get_visible(known.rows(), actor, key, known.action)
        except FreeholdError:
            continue
        found.append(Subscription(known, known.topic(row), version))
    return actor.role, found


def _look(
    session_key: str | None,
    slug: str,
    everything: list[Subscription],
    due: list[Subscription],
    old_role: str | None,
) -> tuple[str | None, list[str], list[str]]:
    """The role now, the fragments to send, and the names of topics that are no longer visible."""
    actor = actor_now(session_key, slug)
    if actor is None:
        return None, [], []
    same_role = actor.role == old_role
    sent, lost = [], []
    for one in due if same_role else everything:
        version = version_of(one.topic)
        if same_role and version <= one.version:
            continue
        try:
            sent.append(_fragment(one, actor, version))
        except FreeholdError:
            lost.append(one.topic.name)
        one.version = version
    return actor.role, sent, lost


def _fragment(one: Subscription, actor: Actor, version: int) -> str:
    """Rendered once for all viewers of a role; the row is found through the door for each of them."""
    known = one.known
    row = get_visible(known.rows(), actor, one.topic.object_id, known.action)
    viewer = actor.user.pk.hex if known.per_user and actor.user is not None else ""
    key = f"live:{one.topic.name}:{known.etag(version, row)}:{actor.role}:{viewer}"
    try:
        if (html := cache.get(key)) is not None:
            return str(html)
    except (RedisError, OSError):
        return render_fragment(known, actor, row, version=version, oob=True)
    html = render_fragment(known, actor, row, version=version, oob=True)
    try:
        cache.set(key, html, KEEP)
    except (RedisError, OSError) as error:
        log.warning("fragment not kept", error=type(error).__name__)
    return html
