"""A small OpenID provider that can be told to answer wrongly; in this process, over HTTP on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from portal.lib.types import JSONDict
from tests.fixtures import http_server

CLIENT_ID = "freehold"
CLIENT_SECRET = "a-client-secret-that-is-long-enough-for-hs256"
KEY = RSAKey.generate_key(2048, parameters={"kid": "one", "use": "sig", "alg": "RS256"})

PERSON: JSONDict = {
    "sub": "ada",
    "name": "Ada Lindqvist",
    "email": "ada@example.org",
    "email_verified": True,
    "sid": "sid-1",
}


@dataclass
class Stub:
    """What the provider says; tests change it between two steps of a sign-in."""

    port: int = 0
    person: JSONDict = field(default_factory=lambda: dict(PERSON))  # claims of the ID token
    overrides: JSONDict = field(default_factory=dict)  # claims set last; None takes one away
    userinfo: JSONDict | None = None  # None: no such endpoint
    algorithm: str = "RS256"
    token_status: int = 200
    no_id_token: bool = False
    down: bool = False
    issuer_says: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def metadata(self) -> JSONDict:
        found = {
            "issuer": self.issuer_says or self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "end_session_endpoint": f"{self.issuer}/end",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        return found | ({"userinfo_endpoint": f"{self.issuer}/userinfo"} if self.userinfo is not None else {})

    def authorize(self, url: str) -> dict[str, str]:
        """The person agrees: the query with which the browser comes back."""
        query = dict(parse_qsl(urlsplit(url).query))
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        assert query["nonce"]
        assert query["state"]
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"code": code, "state": query["state"]}

    def token(self, form: dict[str, str]) -> tuple[int, JSONDict]:
        if self.token_status != 200:
            return self.token_status, {"error": "server_error"}
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or _challenge(form.get("code_verifier", "")) != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        answer: JSONDict = {"access_token": "at", "token_type": "Bearer", "expires_in": 300}
        if not self.no_id_token:
            answer["id_token"] = self.id_token(asked["nonce"])
        return 200, answer

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce}
        claims |= self.person | self.overrides
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.algorithm == "none":
            return ".".join([_b64(json.dumps({"alg": "none"})), _b64(json.dumps(claims)), ""])
        if self.algorithm == "HS256":
            key = OctKey.import_key(CLIENT_SECRET)
            return jwt.encode({"alg": "HS256"}, claims, key, algorithms=["HS256"])
        return jwt.encode({"alg": self.algorithm, "kid": "one"}, claims, KEY, algorithms=[self.algorithm])


def _b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


@contextmanager
def running() -> Iterator[Stub]:
    """Serve until the block ends."""
    stub = Stub()

    class Handler(http_server.Handler):
        def _answer(self, status: int, body: Any) -> None:
            elsewhere = {"Location": "http://127.0.0.1:1/elsewhere"} if status == 302 else {}
            self.say(status, json.dumps(body).encode(), **elsewhere)

        def do_GET(self) -> None:  # noqa: N802 -- http.server's name
            path = urlsplit(self.path).path
            stub.asked.append(path)
            pages: dict[str, Callable[[], JSONDict | None]] = {
                "/.well-known/openid-configuration": stub.metadata,
                "/jwks": lambda: {"keys": [KEY.as_dict(private=False)]},
                "/userinfo": lambda: stub.userinfo,
            }
            if stub.down:
                self._answer(503, "<html>down</html>")
            elif path in pages:
                self._answer(200, pages[path]())
            else:
                self._answer(404, {})

        def do_POST(self) -> None:  # noqa: N802
            stub.asked.append(self.path)
            form = parse_qs(self.body().decode())
            self._answer(*stub.token({name: values[0] for name, values in form.items()}))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
