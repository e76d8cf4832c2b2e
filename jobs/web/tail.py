"""The socket of a job's output: text as the job writes it, for who may read it at that moment.

One subscription for each job and stream, named by the address; the browser only listens. The right is
checked afresh before each read. A browser without a socket polls the page of the output instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs

import msgspec
import structlog
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.cache import cache
from django.utils import translation
from redis.exceptions import RedisError

from jobs import live
from jobs.models import Job
from jobs.observer.pace import note_watched
from jobs.output_reader.protocol import Stream
from jobs.services import actions
from jobs.web.job import ROWS
from jobs.web.pieces import BEHIND, Piece, read_piece
from portal.lib.errors import FreeholdError, NotAllowed
from tenants.actor import Actor
from tenants.live.viewer import actor_now, language_of
from tenants.scoping import get_visible

log = structlog.get_logger(__name__)

MOST_TAILS = 4  # of one person
HOLD = 60  # seconds after which the place of a process that died is free again
MOST_BYTES = 80 * 1024  # of one read: at most three times as long as JSON, so below 256 KiB a message
EVERY, SELDOM = 1.0, 3.0  # seconds between looks: while it grows, and after a minute without news
QUIET = 60
SOON = 0.05
DONE, NOT_TALKED_TO, SIGNED_OUT, NOT_YOURS, NOT_VISIBLE, TOO_MANY, FAILED = (
    *(1000, 4400, 4401, 4403, 4404, 4429, 1011),
)
# reads wait for files, not for the database: they have threads of their own
_READERS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="tail")


def tail_address(actor: Actor, row: Job, stream: Stream) -> str:
    """Where the browser opens the socket of this pane."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    return f"/ws/t/{actor.tenant.slug}/jobs/{row.pk}/output/?stream={stream}"


def read_number(text: str | None) -> int | None:
    """A number of bytes from an address."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the reader of the page stands."""

    stream: Stream = "stdout"
    offset: int | None = None  # None: the tail
    shown: int = 0


class TailConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Read-only. Closes with 4401 when the person is gone, 4403 or 4404 when the right or the job is."""

    async def connect(self) -> None:
        """Accept first: a browser sees the code of a close only after that."""
        route = self.scope["url_route"]["kwargs"]
        self.slug: str = route["tenant"]
        self.job_id: uuid.UUID = route["pk"]
        self.session_key: str | None = self.scope["session"].session_key
        self.language = language_of(self.scope)
        self.place = _place_of(self.scope["query_string"])
        self.slot, self.topic = "", ""
        self.news = asyncio.Event()
        await self.accept()
        self.task = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:  # noqa: ARG002  # the names are Channels'
        """Stop reading, and make room for another tail."""
        self.task.cancel()
        if self.topic:
            await self.channel_layer.group_discard(self.topic, self.channel_name)
        await sync_to_async(_let_go)(self.slot, self.channel_name)

    async def receive(self, **_: Any) -> None:
        """Pages only listen."""
        await self.close(NOT_TALKED_TO)

    async def topic_changed(self, event: dict[str, Any]) -> None:  # noqa: ARG002
        """The job's row changed: it may have started or ended, so look at once."""
        self.news.set()

    async def _follow(self) -> None:
        try:
            code = await self._read_on()
        except Exception as error:  # the page polls on, whatever it was
            log.exception("output tail failed", error=repr(error)[:300])
            code = FAILED
        with contextlib.suppress(Exception):  # a browser that is gone already
            await self.close(code)

    async def _read_on(self) -> int:
        """Look and read until nothing more can come, or the right is gone; then the code of the close."""
        sent: Piece | None = None
        quiet = 0.0
        while True:
            self.news.clear()
            row, code = await database_sync_to_async(self._look)()
            if row is None:
                return int(code)
            await self._join(row)
            read = sync_to_async(self._read, thread_sensitive=False, executor=_READERS)
            piece: Piece = await read(row)
            is_news = sent is None or _is_news(piece, sent)
            if is_news:
                await self.send(text_data=_message(piece))
            sent = piece
            if not piece.more:
                return DONE
            self.place = replace(self.place, offset=piece.offset, shown=piece.shown)
            pause = SOON if piece.more == BEHIND else SELDOM if quiet > QUIET else EVERY
            quiet = 0.0 if is_news else quiet + pause
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self.news.wait(), pause)

    async def _join(self, row: Job) -> None:
        if not self.topic:
            self.topic = live.job(row).name
            await self.channel_layer.group_add(self.topic, self.channel_name)

    def _look(self) -> tuple[Job | None, int]:
        """The job as this person may see it now, else why not."""
        actor = actor_now(self.session_key, self.slug)
        if actor is None or actor.user is None:
            return None, SIGNED_OUT
        try:
            row = get_visible(ROWS.all(), actor, self.job_id)
            actions.require_output(actor, row)
        except NotAllowed:
            return None, NOT_YOURS
        except FreeholdError:
            return None, NOT_VISIBLE
        self.slot = _hold(actor.user.pk.hex, self.slot, self.channel_name)
        if not self.slot:
            return None, TOO_MANY
        note_watched([row.cluster_id])
        return row, DONE

    def _read(self, row: Job) -> Piece:
        place = self.place
        with translation.override(self.language):
            return read_piece(row, place.stream, place.offset, place.shown, most=MOST_BYTES)


def _place_of(query: bytes) -> Place:
    asked = {name: values[-1] for name, values in parse_qs(query.decode("ascii", "replace")).items()}
    return Place(
        stream="stderr" if asked.get("stream") == "stderr" else "stdout",
        offset=read_number(asked.get("offset")),
        shown=read_number(asked.get("shown")) or 0,
    )


def _is_news(piece: Piece, sent: Piece) -> bool:
    """Whether the page would look otherwise; what is shown beside the lines is written over each time."""
    if piece.lines or (piece.replace and sent.shown):
        return True
    now, before = ((one.last, one.said, one.note, bool(one.more)) for one in (piece, sent))
    return now != before


def _message(piece: Piece) -> str:
    """For static/js/output.js, which puts it in as text and never as HTML."""
    facts = {
        "lines": piece.lines,
        "last": piece.last,
        "said": piece.said,
        "note": piece.note,
        "offset": piece.offset,
        "shown": piece.shown,
        "replace": piece.replace,
        "over": not piece.more,
    }
    return msgspec.json.encode(facts).decode()


def _hold(user: str, slot: str, name: str) -> str:
    """A place of the person's four, kept or taken; "" when all are taken or nobody can tell."""
    try:
        if slot and cache.get(slot) == name and cache.touch(slot, HOLD):
            return slot
        places = (f"tail:{user}:{number}" for number in range(MOST_TAILS))
        return next((place for place in places if cache.add(place, name, HOLD)), "")
    except (RedisError, OSError):
        return ""


def _let_go(slot: str, name: str) -> None:
    with contextlib.suppress(RedisError, OSError):
        if slot and cache.get(slot) == name:
            cache.delete(slot)
