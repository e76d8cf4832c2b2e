"""An https server that plays what a real API server cannot be made to do: it answers from a script."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from tests.fixtures import http_server
from tests.kube.pki import Authority


@dataclass
class Reply:
    """One answer. `cut` hangs up before it."""

    status: int = 200
    body: Any = None
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Play = Callable[[Asked], Reply]


class Script:
    """Answers each request by `play`; keeps what was asked."""

    def __init__(self, folder: Path) -> None:
        self.play: Play = lambda _: Reply(500)
        self.asked: list[Asked] = []
        self.connections = 0
        self.authority = Authority("script")
        pair = self.authority.server()
        (folder / "both.pem").write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "both.pem")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def client(self, *, token: str = "", ca: bytes | None = None) -> KubeClient:
        """A client of it."""
        return KubeClient(Access(self.url, ca or self.authority.certificate, token=token), timeout=5)

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(http_server.Handler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                """Once for each connection."""
                script.connections += 1
                super().setup()

            def _answer(self) -> None:
                asked = Asked(self.command, self.path, dict(self.headers), self.body())
                script.asked.append(asked)
                reply = script.play(asked)
                if reply.cut:
                    self.close_connection = True
                    return
                body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                for name, value in {"Content-Type": reply.kind, **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815

            def handle(self) -> None:
                """A client that hangs up in the handshake is no matter."""
                try:
                    super().handle()
                except (ssl.SSLError, OSError):
                    self.close_connection = True

            def finish(self) -> None:
                """As above."""
                try:
                    super().finish()
                except (ssl.SSLError, OSError):
                    self.close_connection = True

        return Handler


def status(code: int, reason: str, message: str = "", **details: Any) -> Reply:
    """A refusal in Kubernetes' own form."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Reply(code, {**body, "reason": reason, "message": message, "details": details})
