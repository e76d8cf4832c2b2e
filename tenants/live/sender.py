"""Tells all sockets what changed: a thread with one connection, so that no commit waits for Redis."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading

import structlog
from channels.layers import get_channel_layer

log = structlog.get_logger(__name__)
LAST_WORDS = 2.0  # seconds in which a process that ends sends what it still holds


class _Sender:
    """Of one process; what changes again before it was sent is sent once."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._pending: dict[str, int] = {}
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="live-sender", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def put(self, name: str, version: int) -> None:
        """From any thread."""
        with self._lock:
            self._pending[name] = version
            if not self._idle.is_set():
                return
            self._idle.clear()
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._send()))

    def close(self) -> None:
        """Send the rest; only in the process that made this one, not in a child of it."""
        if self.pid != os.getpid():
            return
        atexit.unregister(self.close)
        self._idle.wait(LAST_WORDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LAST_WORDS)

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()  # the layer closes its connection with it

    async def _send(self) -> None:
        while True:
            with self._lock:
                batch, self._pending = self._pending, {}
                if not batch:
                    self._idle.set()
                    return
            try:
                await _tell(batch)
            except Exception as error:  # noqa: BLE001  # whatever it was: pages ask by themselves every 30 s
                log.warning("changes not told", topics=len(batch), error=repr(error)[:200])


async def _tell(batch: dict[str, int]) -> None:
    layer = get_channel_layer()
    for name, version in batch.items():
        await layer.group_send(name, {"type": "topic.changed", "topic": name, "version": version})


_sender: _Sender | None = None
_making = threading.Lock()


def put(name: str, version: int) -> None:
    """Send soon. Never raises and never waits: what is lost costs a page at most 30 s."""
    global _sender  # noqa: PLW0603  # a child of a fork needs a thread of its own
    sender = _sender
    if sender is None or sender.pid != os.getpid():
        with _making:
            if _sender is None or _sender.pid != os.getpid():
                _sender = _Sender()
            sender = _sender
    sender.put(name, version)
