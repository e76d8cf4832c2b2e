"""A kubelet that only knows exec: the real API server proxies to it, and it really runs the programs.

It speaks TLS, lets in only the API server (by its client certificate), and answers as a kubelet does: data
on the streams of output and errors, the exit status as JSON on the stream "error". It has one node, whose
pods are records without containers; programs run on this machine, as root, as a container's exec does.
"""

from __future__ import annotations

import json
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from clusters.clients.kube.models import Kind, Ref
from clusters.kube import kinds, objects
from tests.kube import spdy
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

NODE = "freehold-test-kubelet"
NODES = Kind("v1", "Node", "nodes", namespaced=False)
PROTOCOL = "v4.channel.k8s.io"
STREAMS = ("error", "stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Asked:
    """One exec as the kubelet heard it."""

    pod: str
    container: str
    command: tuple[str, ...]
    head: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended. `broken`: a container's runtime that cannot run it says why."""

    code: int = 0
    output: bytes = b""
    words: bytes = b""
    broken: str = ""


Program = Callable[[Asked], Answer]


def really(environment: Mapping[str, str]) -> Program:
    """Runs what is asked for, with a container's environment."""

    def run(asked: Asked) -> Answer:
        try:
            done = subprocess.run(
                list(asked.command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(environment),
                cwd="/",
                check=False,
                timeout=30,
            )
        except FileNotFoundError as error:
            return Answer(broken=f'exec: "{error.filename}": executable file not found in $PATH')
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


class Kubelet(socketserver.ThreadingTCPServer):
    """See above. `asked` is everything that it was asked."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, tls: ssl.SSLContext, program: Program) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tls = tls
        self.program = program
        self.asked: list[Asked] = []

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that hangs up is no trouble of a kubelet's."""


class _Handler(socketserver.BaseRequestHandler):
    server: Kubelet

    def handle(self) -> None:
        with self.server.tls.wrap_socket(self.request, server_side=True) as connection:
            reading, writing = connection.makefile("rb"), connection.makefile("wb")
            line = reading.readline().decode("ascii")
            head = line
            while (more := reading.readline().decode("ascii")).strip():
                head += more
            asked = _asked(line, head)
            self.server.asked.append(asked)
            upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
            writing.write(f"{upgrade}X-Stream-Protocol-Version: {PROTOCOL}\r\n\r\n".encode())
            writing.flush()
            _serve(spdy.Connection(reading, writing), self.server.program, asked)


def _asked(line: str, head: str) -> Asked:
    target = urlsplit(line.split()[1])
    _, verb, namespace, pod, container = target.path.split("/")
    assert verb == "exec", line
    query = parse_qs(target.query)
    assert query["output"] == query["error"] == ["1"]
    assert not {"input", "tty"} & query.keys(), line
    return Asked(f"{namespace}/{pod}", container, tuple(query["command"]), head)


def _serve(connection: spdy.Connection, program: Program, asked: Asked) -> None:
    streams: dict[str, spdy.Opened] = {}
    for stream in connection.opened():
        streams[stream.headers["streamtype"]] = stream
        if len(streams) == len(STREAMS):
            break
    answer = program(asked)
    connection.send(streams["stdout"], answer.output, last=True)
    connection.send(streams["stderr"], answer.words, last=True)
    connection.send(streams["error"], json.dumps(_status(answer)).encode(), last=True)
    for _ in connection.opened():
        pass  # until the API server has read it all


def _status(answer: Answer) -> dict[str, Any]:
    """As kubelet's own server builds it (k8s.io/kubelet/pkg/cri/streaming/remotecommand)."""
    if answer.broken:
        message = f"error executing command in container: {answer.broken}"
        return {
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": "InternalError",
            "code": 500,
        }
    if not answer.code:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(answer.code)}
    message = f"command terminated with non-zero exit code: exit status {answer.code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "NonZeroExitCode",
        "details": {"causes": [cause]},
    }


@contextmanager
def kubelet(server: KubeServer, program: Program) -> Iterator[Kubelet]:
    """A node of the API server's, with this kubelet, for the duration of the block."""
    pair = server.authority.server()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (server.folder / "kubelet.crt").write_bytes(pair.certificate)
    (server.folder / "kubelet.key").write_bytes(pair.key)
    tls.load_cert_chain(server.folder / "kubelet.crt", server.folder / "kubelet.key")
    tls.load_verify_locations(cadata=server.authority.certificate.decode())
    tls.verify_mode = ssl.CERT_REQUIRED
    with Kubelet(tls, program) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        _register(server, running.port)
        try:
            yield running
        finally:
            Hands(server.client).release(Ref(NODES, NODE))
            running.shutdown()
            thread.join()


def _register(server: KubeServer, port: int) -> None:
    server.client.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}, NODES)
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    Hands(server.client).write_status(Ref(NODES, NODE), status, "status")


@contextmanager
def pod_on(
    server: KubeServer,
    name: str,
    container: str,
    *,
    namespace: str = "slurm",
    labels: Mapping[str, str] | None = None,
    ready: bool = True,
    others: Sequence[str] = (),
) -> Iterator[Ref]:
    """A pod of the kubelet's node, as if it ran."""
    server.ensure_namespace(namespace)
    containers = [{"name": one, "image": "registry.invalid/slurm:1"} for one in (container, *others)]
    spec = {"spec": {"nodeName": NODE, "containers": containers}}
    body = objects.manifest(kinds.POD, name, spec, namespace=namespace, labels=labels or {})
    ref, hands = Ref(kinds.POD, name, namespace), Hands(server.client)
    assert hands.create(kinds.POD, body)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    hands.write_status(ref, {"phase": "Running", "conditions": [condition]}, "status")
    try:
        yield ref
    finally:
        # at once: no kubelet of ours ends a pod in its own time
        server.client._send(
            "DELETE", ref.path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        )
