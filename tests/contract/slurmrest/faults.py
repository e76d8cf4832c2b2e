"""A small HTTP server that misbehaves as proxies, firewalls and dying daemons do."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Behave = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Reads the request whole, counts it, and then does what the test says."""

    protocol_version = "HTTP/1.1"
    server: FaultServer

    def _handle(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append(f"{self.command} {self.path}")
        self.server.headers.append(dict(self.headers))
        with suppress(OSError):
            self.server.behave(self)

    do_GET = do_POST = do_DELETE = _handle  # noqa: N815 -- http.server's names

    def say(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """Cut the connection the hard way, without an answer."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


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
