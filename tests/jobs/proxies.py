"""Small servers that stand before or in place of slurmrestd and misbehave."""

from __future__ import annotations

import http.client
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.fixtures.http_server import Handler


@contextmanager
def serving(answer: Callable[[Handler], None]) -> Iterator[str]:
    """The address of a server that handles every request with `answer`."""

    class Serving(Handler):
        def handle_one(self) -> None:
            answer(self)

        do_GET = do_POST = do_DELETE = handle_one  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Serving)
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

    def answer(request: Handler) -> None:
        upstream = http.client.HTTPConnection(urlsplit(target).netloc, timeout=20)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        upstream.request(request.command, request.path, request.body() or None, headers)
        upstream.getresponse().read()
        upstream.close()
        request.close_connection = True

    with serving(answer) as url:
        yield url


@dataclass(slots=True)
class Front:
    """A proxy before a slurmrestd, and how it behaves at the moment."""

    url: str = ""
    pages: bool = False  # answers everything with a page of its own
    late: Callable[[str], str] | None = None  # the token of this account as it is when it arrives too late


@contextmanager
def front_of(target: str) -> Iterator[Front]:
    """Hands requests and answers on, as long as it is not told otherwise.

    What is `late` is so in mid-poll: the first question of a look still comes in time.
    """
    front, pages = Front(), itertools.cycle([(200, b"<p>Sign in</p>"), (502, b"<h1>Bad Gateway</h1>")])

    def answer(request: Handler) -> None:
        body = request.body() or None
        if front.pages:
            request.say(*next(pages), kind="text/html")
            return
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        if front.late is not None and not request.path.endswith("/diag"):
            headers["X-SLURM-USER-TOKEN"] = front.late(headers["X-SLURM-USER-NAME"])
        upstream = http.client.HTTPConnection(urlsplit(target).netloc, timeout=20)
        upstream.request(request.command, request.path, body, headers)
        got = upstream.getresponse()
        request.say(got.status, got.read(), kind=got.headers.get("Content-Type", "text/plain"))
        upstream.close()

    with serving(answer) as url:
        front.url = url
        yield front


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

    def answer(request: Handler) -> None:
        time.sleep(fault.delay)
        with suppress(OSError):
            request.say(fault.status, fault.body, kind=fault.kind)

    with serving(answer) as url:
        yield url
