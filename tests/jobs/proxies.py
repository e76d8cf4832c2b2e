"""Small servers that stand before or in place of slurmrestd and misbehave."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The address of a server that handles every request with `answer`."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            answer(self)

        do_GET = do_POST = do_DELETE = handle_one  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def lossy_proxy(target: str) -> Iterator[str]:
    """Hands every request on, waits for the answer, and hangs up without it."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        upstream = http.client.HTTPConnection(urlsplit(target).netloc, timeout=20)
        length = int(request.headers.get("Content-Length", 0))
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        upstream.request(request.command, request.path, request.rfile.read(length) or None, headers)
        upstream.getresponse().read()
        upstream.close()
        request.close_connection = True

    with serving(answer) as url:
        yield url


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is not Slurm's."""

    status: int = 200
    kind: str = "text/html"
    body: bytes = b""
    delay: float = 0.0


@contextmanager
def broken_slurm(fault: Fault) -> Iterator[str]:
    """Answers everything in one bad way."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        time.sleep(fault.delay)
        try:
            request.send_response(fault.status)
            request.send_header("Content-Type", fault.kind)
            request.send_header("Content-Length", str(len(fault.body)))
            request.end_headers()
            request.wfile.write(fault.body)
        except OSError:
            return

    with serving(answer) as url:
        yield url
