"""Serves the fake controller over TLS on a loopback port, with the faults that a test asks for."""

from __future__ import annotations

import json
import re
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.clusters.netris.controller import Controller, Refusal
from tests.clusters.netris.schemas import violation
from tests.clusters.netris.tls import certificate_for_loopback
from tests.fixtures import http_server

USER, PASSWORD = "freehold", "pa55-of-the-fabric"
Kind = Literal[
    "slow", "error", "lost", "unseen", "no", "html", "redirect", "partial", "short", "half", "gone"
]
ANY_CHANGE = "any change"
LOGIN_PAGE = b"<!doctype html><title>Netris</title><form>Sign in</form>"


@dataclass
class Fault:
    """What goes wrong with the next `times` requests that match.

    slow: no answer in time. error: HTTP `status`. lost: done, then the connection is cut. unseen: cut before.
    `skip` lets as many go by first; the method ANY_CHANGE is every one but GET and logins.

    no: HTTP 200 with isSuccess false. html, redirect: a login page. partial: half of a list, `meta` tells.
    short: half of a list, nothing tells. half: half a body. gone: HTTP 401, the session ended.
    """

    kind: Kind
    method: str = "GET"
    path: str = ".*"
    times: int = 1
    status: int = 503
    message: str = ""
    skip: int = 0

    def strikes(self, method: str, path: str) -> bool:
        """Whether this request is one of those; counts it."""
        changes = method != "GET" and path != "/api/auth"
        fits = changes if self.method == ANY_CHANGE else method == self.method
        if not self.times or not fits or not re.fullmatch(self.path, path):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class _Handler(http_server.Handler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body leave together
    server: FakeNetris

    def _handle(self) -> None:
        sent = self.body()
        body = json.loads(sent) if sent else None
        path = urlsplit(self.path).path
        with suppress(OSError):
            with self.server.lock:
                self.server.requests.append(f"{self.command} {path}")
                fault = self.server.fault_for(self.command, path)
                if fault is None or fault.kind != "slow":
                    self._answer(path, body, fault)
                    return
            self.server.released.wait(30)
            self.reset()

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 -- http.server's names

    def _answer(self, path: str, body: Any, fault: Fault | None) -> None:
        kind = fault.kind if fault else None
        if fault and self._stop_early(fault):
            return
        if path == "/api/auth":
            self._log_in(body)
            return
        if kind == "gone":
            self.server.sessions.clear()
        if not self._is_known():
            self._say(401, {"isSuccess": False, "message": "Unauthorized", "meta": {}, "data": None})
            return
        try:
            data = self.server.controller.answer(self.command, path, body)
        except Refusal as refusal:
            said = {"isSuccess": False, "message": refusal.message, "meta": {}, "data": None}
            self._say(refusal.status, said)
            return
        if kind == "lost":
            self.reset()
            return
        self._say_data(path, data, kind)

    def _stop_early(self, fault: Fault) -> bool:
        match fault.kind:
            case "unseen":
                self.reset()
            case "error":
                self.say(fault.status, b"<html>Bad Gateway</html>", "text/html")
            case "html":
                self.say(200, LOGIN_PAGE, "text/html; charset=utf-8")
            case "redirect":
                self.say(302, b"", "text/html", Location="https://192.0.2.1/login")
            case "no":
                self._say(200, {"isSuccess": False, "message": fault.message, "meta": {}, "data": None})
            case _:
                return False
        return True

    def _log_in(self, body: Any) -> None:
        if wrong := violation("POST", "/api/auth", body):
            self.server.controller.violations.append(wrong)
        if (body.get("user"), body.get("password")) != (USER, self.server.password):
            said = f"Wrong password {body.get('password')}"  # a controller that tells too much
            self._say(401, {"isSuccess": False, "message": said, "meta": {}, "data": None})
            return
        cookie = f"s%3A{secrets.token_hex(16)}.sig"
        self.server.sessions.add(cookie)
        header = f"connect.sid={cookie}; Path=/; HttpOnly; Secure"
        self._say(
            200, {"isSuccess": True, "message": "", "meta": {}, "data": {"user_id": 9}}, Set_Cookie=header
        )

    def _is_known(self) -> bool:
        sent = re.fullmatch(r"connect\.sid=(\S+)", self.headers.get("Cookie", ""))
        return bool(sent and sent[1] in self.server.sessions)

    def _say_data(self, path: str, data: Any, kind: Kind | None) -> None:
        meta = {}
        if isinstance(data, list) and kind in {"partial", "short"}:
            meta = {"total": len(data)} if kind == "partial" else {}
            data = data[: len(data) // 2]
        said = {"isSuccess": True, "message": "Success", "meta": meta, "data": data}
        body = json.dumps(data if path == "/api/tenants" else said).encode()  # v1 sends a bare list
        self.say(200, body[: len(body) // 2] if kind == "half" else body)

    def _say(self, status: int, content: Any, **headers: str) -> None:
        self.say(status, json.dumps(content).encode(), **headers)


class FakeNetris(ThreadingHTTPServer):
    """A controller at `url`, whose certificate `authorities` vouches for."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        certificate, key, authorities = certificate_for_loopback(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self.server_port}"
        self.authorities = authorities
        self.password = PASSWORD
        self.controller = Controller()
        self.sessions: set[str] = set()
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.released = threading.Event()
        self.lock = threading.RLock()

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The first fault that matches; used up by this."""
        return next((fault for fault in self.faults if fault.strikes(method, path)), None)

    def changes(self) -> list[str]:
        """Requests that change something, without logins."""
        return [one for one in self.requests if not one.startswith("GET ") and "/api/auth" not in one]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, or refuses our certificate, is part of the tests."""


@contextmanager
def running(folder: Path) -> Iterator[FakeNetris]:
    """A controller for the duration of the block; it has seen only valid bodies when it ends."""
    server = FakeNetris(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
    assert not server.controller.violations, server.controller.violations
