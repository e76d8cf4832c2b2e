"""The vCluster Platform's front door: its path prefix, and the subresources that no CRD can have.

Everything else goes on to the API server with the caller's own credential, so that its RBAC decides.
The Platform's access key is here a ServiceAccount's token.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema

from clusters.clients.kube.models import Access
from clusters.clients.kube.tls import context_for
from portal.lib.http import Answer, Outside
from tests.fixtures import http_server
from tests.kube import openapi
from tests.kube.platform_crds import GROUP
from tests.kube.server import KubeServer

PREFIX = "/kubernetes/management"
INSTANCE = rf"/apis/{re.escape(GROUP)}/v1/namespaces/([a-z0-9-]+)/virtualclusterinstances/([a-z0-9-]+)"
SUBRESOURCE = re.compile(rf"{INSTANCE}/(kubeconfig|joinscript)")
SELVES = f"/apis/{GROUP}/v1/selves"
KINDS = {"kubeconfig": "VirtualClusterInstanceKubeConfig", "joinscript": "VirtualClusterInstanceJoinScript"}
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
JSON = "application/json"

Issue = Callable[[str, str, dict[str, Any]], str]  # namespace, instance, spec -> text


def no_kubeconfig(namespace: str, name: str, spec: dict[str, Any]) -> str:
    """What the Platform gives before the instance is ready."""
    del namespace, name, spec
    return ""


def join_command(namespace: str, name: str, spec: dict[str, Any]) -> str:
    """A line as the Platform gives it."""
    del spec
    return f'curl -fsSLk "https://{name}.{namespace}.example.com/node/join?token=t0k3n" | sh -'


@dataclass
class Platform:
    """What the test says that the Platform answers, and what it was asked."""

    kubeconfig: Issue = no_kubeconfig
    joinscript: Issue = join_command
    prefix: str = "p-"
    asked: list[str] = field(default_factory=list)


class PlatformProxy:
    """Listens until it is closed."""

    def __init__(self, server: KubeServer) -> None:
        self.platform = Platform()
        self.ca = server.authority.certificate
        anyone = Access(server.url, self.ca)
        self.upstream = Outside(server.url, tls=context_for(anyone), timeout=30)
        pair = server.authority.server()
        both = server.folder / "proxy.pem"
        both.touch(mode=0o600)
        both.write_bytes(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def access(self, token: str) -> Access:
        """How a driver reaches it."""
        return Access(self.url, self.ca, token=token, prefix=PREFIX)

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.upstream.close()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """What the Platform says to one request."""
        self.platform.asked.append(f"{method} {path}")
        if not path.startswith(f"{PREFIX}/"):
            return Answer(404, "text/plain", b"404 page not found")
        inner = path.removeprefix(PREFIX)
        match = SUBRESOURCE.fullmatch(inner.partition("?")[0])
        if match and method == "POST":
            return self._subresource(match[1], match[2], match[3], headers, body)
        if method == "POST" and inner.partition("?")[0] == SELVES:
            return self._self(body)
        return self.upstream.send(method, inner, headers=headers, body=body or None)

    def _self(self, body: bytes) -> Answer:
        asked = _checked(body, "Self")
        if isinstance(asked, Answer):
            return asked
        status = {"projectNamespacePrefix": self.platform.prefix}
        return _as_defined({**asked, "status": status}, "Self")

    def _subresource(
        self, namespace: str, name: str, sub: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        if not self._may(headers, namespace, name, sub):
            words = f'virtualclusterinstances.{GROUP} "{name}" is forbidden: cannot create {sub}'
            return _refusal(403, "Forbidden", words)
        path = f"/apis/{GROUP}/v1/namespaces/{namespace}/virtualclusterinstances/{name}"
        there = self.upstream.send("GET", path, headers={**headers, "Accept": JSON})
        if there.status != 200:
            return there
        asked = _checked(body, KINDS[sub])
        if isinstance(asked, Answer):
            return asked
        spec = asked.get("spec") or {}
        if sub == "kubeconfig":
            status = {"kubeConfig": self.platform.kubeconfig(namespace, name, spec)}
        else:
            status = {"joinCommand": self.platform.joinscript(namespace, name, spec)}
        return _as_defined({**asked, "status": status}, KINDS[sub])

    def _may(self, headers: dict[str, str], namespace: str, name: str, sub: str) -> bool:
        wish = {
            "verb": "create",
            "group": GROUP,
            "resource": "virtualclusterinstances",
            "subresource": sub,
            "namespace": namespace,
            "name": name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": wish},
        }
        sent = {**headers, "Content-Type": JSON}
        said = self.upstream.send("POST", REVIEW, headers=sent, body=json.dumps(review).encode())
        return said.status == 201 and bool(json.loads(said.body)["status"]["allowed"])


def _checked(body: bytes, kind: str) -> dict[str, Any] | Answer:
    """The body, or a refusal if it is not as the definition says."""
    try:
        asked = json.loads(body)
        if (asked.get("apiVersion"), asked.get("kind")) != (f"{GROUP}/v1", kind):
            return _refusal(400, "BadRequest", f"the object is no {kind} of {GROUP}/v1")
        jsonschema.validate(asked, openapi.strict(openapi.object_schema(kind)))
    except (ValueError, jsonschema.ValidationError) as error:
        return _refusal(400, "BadRequest", f"strict decoding error: {str(error).splitlines()[0]}")
    return dict(asked)


def _as_defined(made: dict[str, Any], kind: str) -> Answer:
    jsonschema.validate(made, openapi.strict(openapi.object_schema(kind)))
    return Answer(201, JSON, json.dumps(made).encode())


def _refusal(code: int, reason: str, message: str) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Answer(code, JSON, json.dumps({**body, "reason": reason, "message": message}).encode())


def _handler(proxy: PlatformProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(http_server.Handler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            passed = {
                name: self.headers[name]
                for name in ("Authorization", "Accept", "Content-Type")
                if name in self.headers
            }
            answer = proxy.answer(self.command, self.path, passed, self.body())
            self.say(answer.status, answer.body, answer.content_type or JSON)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _do  # noqa: N815

        def handle(self) -> None:
            """A client that hangs up is no matter."""
            try:
                super().handle()
            except OSError:
                self.close_connection = True

        def finish(self) -> None:
            """As above."""
            try:
                super().finish()
            except OSError:
                self.close_connection = True

    return Handler
