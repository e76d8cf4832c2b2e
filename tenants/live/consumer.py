"""The socket of a page: subscribes by its address, checks the right at every delivery, sends fragments."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer

from tenants.live.desk import Desk
from tenants.live.looks import Join, Look, Subscription, join_all, look_all
from tenants.live.viewer import language_of

log = structlog.get_logger(__name__)

MOST_TOPICS = 20
GATHER = 0.25  # seconds in which changes become one delivery
CHECK_EVERY = 30.0  # seconds between looks at the right when nothing is delivered
NOT_TALKED_TO, SIGNED_OUT, NOTHING_VISIBLE, FAILED = 4400, 4401, 4404, 1011


_joins, _looks = Desk(join_all), Desk(look_all)


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Read-only. Closes with 4401 when the right is gone, 4404 when nothing is left to show.

    A page that shows nothing live asks for no topic: it only hears when its reader may stay no longer.
    """

    async def connect(self) -> None:
        """Accept first: a browser sees the code of a close only after that."""
        self.slug: str = self.scope["url_route"]["kwargs"]["tenant"]
        self.session_key: str | None = self.scope["session"].session_key
        self.language = language_of(self.scope)
        self.subscriptions: dict[str, Subscription] = {}
        self.changed: set[str] = set()
        self.role: str | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.gathering = False
        await self.accept()
        wanted = _parse(self.scope["query_string"])
        joined = await _joins.ask(Join((self.session_key, self.slug), wanted))
        self.role = joined.role
        if self.role is None:
            await self.close(SIGNED_OUT)
        elif self.scope["query_string"] and not joined.found:
            await self.close(NOTHING_VISIBLE)
        else:
            await self._join(joined.found)

    async def _join(self, found: Sequence[Subscription]) -> None:
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
        everything = list(self.subscriptions.values())
        seen = await _looks.ask(
            Look((self.session_key, self.slug), self.language, self.role, everything, due)
        )
        if seen.role is None:
            await self.close(SIGNED_OUT)
            return
        self.role = seen.role
        for html in seen.sent:
            await self.send(text_data=html)
        for name in seen.lost:
            self.subscriptions.pop(name, None)
            await self.channel_layer.group_discard(name, self.channel_name)
        if everything and not self.subscriptions:
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
