"""Serves the sockets of a process together: what is asked at one moment is answered by one look.

While a look is under way the next askers gather; so one alone never waits, and two hundred need a few
looks instead of two hundred, one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async

MOST = 25  # sockets of one look: between the check of a right and what is sent lies no more than this
# one thread of their own: no page waits for sockets, and no fragment is rendered twice at once
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live")

AskT = TypeVar("AskT")
AnswerT = TypeVar("AnswerT")


class Desk(Generic[AskT, AnswerT]):
    """One way of asking. `serve` gets what waits and gives an answer, or what went wrong, for each."""

    def __init__(self, serve: Callable[[Sequence[AskT]], Sequence[AnswerT | Exception]]) -> None:
        self._serve = serve
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[AskT, AnswerT]]
        self._queues = WeakKeyDictionary()

    async def ask(self, asked: AskT) -> AnswerT:
        """The answer. Raises what `serve` gave or raised."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._serve)
        return await queue.put(asked)


class _Queue(Generic[AskT, AnswerT]):
    """Of one event loop."""

    def __init__(self, serve: Callable[[Sequence[AskT]], Sequence[AnswerT | Exception]]) -> None:
        self._look = database_sync_to_async(serve, thread_sensitive=False, executor=_THREAD)
        self._waiting: list[tuple[AskT, asyncio.Future[AnswerT]]] = []
        self._work: asyncio.Task[None] | None = None

    async def put(self, asked: AskT) -> AnswerT:
        future: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._until_empty())
        return await future

    async def _until_empty(self) -> None:
        while self._waiting:
            now, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            now = [(asked, future) for asked, future in now if not future.done()]  # some went away
            try:
                answers = await self._look([asked for asked, _ in now]) if now else []
            except Exception as error:  # noqa: BLE001  # each asker raises it in its own place
                answers = [error] * len(now)
            for (_, future), answer in zip(now, answers, strict=True):
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
