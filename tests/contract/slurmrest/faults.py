"""A small HTTP server that misbehaves as proxies, firewalls and dying daemons do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer

from tests.fixtures import http_server

Behave = Callable[["Handler"], None]


class Handler(http_server.Handler):
    """Reads the request whole, counts it, and then does what the test says."""

    protocol_version = "HTTP/1.1"
    server: FaultServer

    sent = b""  # the request's body

    def _handle(self) -> None:
        self.sent = self.body()
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.headers.append(dict(self.headers))
        with suppress(OSError):
            self.server.behave(self)

    do_GET = do_POST = do_DELETE = _handle  # noqa: N815 -- http.server's names


class FaultServer(ThreadingHTTPServer):
    """Serves one behaviour; `stopped` lets slow ones end with the test."""

    daemon_threads = True
    behave: Behave

    def __init__(self, behave: Behave) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave = behave
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.stopped = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def faults(behave: Behave) -> Iterator[FaultServer]:
    """Run a server for the duration of the block."""
    server = FaultServer(behave)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
