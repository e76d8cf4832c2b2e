"""A real etcd and kube-apiserver in a temporary folder, on loopback ports; both end with who started them."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Ref
from clusters.kube import kinds, objects
from portal.lib.errors import OutsideError
from tests.fixtures.servers import die_with_parent
from tests.kube.pki import Authority, new_key

DEADLINE = 120.0
Rule = Mapping[str, Any]


class CannotStart(Exception):
    """A program is missing or did not come up."""


class KubeServer:
    """One API server with a store of its own."""

    admin: Access
    client: KubeClient

    def __init__(self, programs: Mapping[str, Path]) -> None:
        missing = {"etcd", "kube-apiserver"} - set(programs)
        if missing:
            raise CannotStart(f"{', '.join(sorted(missing))} missing. Run `make kube-assets` once.")
        self._programs = programs
        self._children: list[subprocess.Popen[bytes]] = []
        self.folder = Path(tempfile.mkdtemp(prefix="freehold-test-kube-"))
        self.authority = Authority("test")
        self.url = ""

    # -- life

    def start(self, store: Path | None = None) -> None:
        """Bring both up, on a copy of a store if given; returns once the server is ready."""
        if store is not None:
            shutil.copytree(store, self.store)
        client, peer, secure = free_ports(3)
        self.url = f"https://127.0.0.1:{secure}"
        self._start_etcd(client, peer)
        self._start_server(client, secure)
        self.admin = self.admin_access()
        self.client = KubeClient(self.admin, timeout=30)
        self._wait("kube-apiserver", self._is_ready)

    def stop(self) -> None:
        """End both and remove what they wrote."""
        self.halt(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def halt(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End both, the store last and in order; what they wrote stays."""
        while self._children:
            child = self._children.pop()
            child.send_signal(number)
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    @property
    def store(self) -> Path:
        """Where etcd keeps everything."""
        return self.folder / "etcd"

    def memory(self) -> dict[str, int]:
        """Resident memory of each process, in KiB."""
        names = ("etcd", "kube-apiserver")
        return {name: _resident(child.pid) for name, child in zip(names, self._children, strict=True)}

    # -- who may come in

    def admin_access(self) -> Access:
        """A client certificate in system:masters; for setting up only, never for a driver."""
        pair = self.authority.client("test-admin", "system:masters")
        return Access(
            self.url, self.authority.certificate, certificate_pem=pair.certificate, key_pem=pair.key
        )

    def account(self, name: str, *, namespace: str = "default") -> Access:
        """A ServiceAccount that may do nothing yet, with a token of an hour."""
        self.ensure_namespace(namespace)
        body = objects.manifest(kinds.SERVICE_ACCOUNT, name, {}, namespace=namespace)
        self.client.apply(body, kinds.SERVICE_ACCOUNT)
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        answer = self.client.post(Ref(kinds.SERVICE_ACCOUNT, name, namespace), "token", asked)
        return Access(self.url, self.authority.certificate, token=answer["status"]["token"])

    def allow(
        self, name: str, rules: Iterable[Rule], *, namespace: str = "default", within: str = ""
    ) -> None:
        """Give a ServiceAccount exactly these rules, in one namespace (`within`) or in the whole cluster."""
        role, binding = (
            (kinds.ROLE, kinds.ROLE_BINDING) if within else (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)
        )
        title = f"test-{namespace}-{name}"
        if within:
            self.ensure_namespace(within)
        self.client.apply(
            objects.manifest(role, title, {"rules": [dict(rule) for rule in rules]}, namespace=within), role
        )
        bound = {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role.kind, "name": title},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        self.client.apply(objects.manifest(binding, title, bound, namespace=within), binding)

    def ensure_namespace(self, name: str) -> None:
        """Make a namespace if there is none."""
        if self.client.get(Ref(kinds.NAMESPACE, name)) is None:
            self.client.apply(objects.namespace(name).manifest, kinds.NAMESPACE)

    # -- inside

    def _start_etcd(self, client: int, peer: int) -> None:
        self._spawn(
            "etcd",
            f"--data-dir={self.store}",
            f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )

    def _start_server(self, store: int, secure: int) -> None:
        pair, kubelets = self.authority.server(), self.authority.client("test-kubelets")
        files = {
            "ca.crt": self.authority.certificate,
            "server.crt": pair.certificate,
            "server.key": pair.key,
            "accounts.key": new_key(),
            "kubelets.crt": kubelets.certificate,
            "kubelets.key": kubelets.key,
        }
        for name, content in files.items():
            path = self.folder / name
            path.touch(mode=0o600)
            path.write_bytes(content)
        self._spawn(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{store}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={secure}",
            f"--client-ca-file={self.folder / 'ca.crt'}",
            f"--tls-cert-file={self.folder / 'server.crt'}",
            f"--tls-private-key-file={self.folder / 'server.key'}",
            f"--service-account-key-file={self.folder / 'accounts.key'}",
            f"--service-account-signing-key-file={self.folder / 'accounts.key'}",
            # a test's kubelet on the loopback; its certificate is verified, and it verifies ours
            f"--kubelet-certificate-authority={self.folder / 'ca.crt'}",
            f"--kubelet-client-certificate={self.folder / 'kubelets.crt'}",
            f"--kubelet-client-key={self.folder / 'kubelets.key'}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--anonymous-auth=false",
            "--profiling=false",
            "--watch-cache=false",  # a kind's first list would be refused until its cache is filled
            # no controller makes the default ServiceAccounts that this plugin waits for
            "--disable-admission-plugins=ServiceAccount",
        )

    def _spawn(self, name: str, *options: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as output:
            child = subprocess.Popen(
                [str(self._programs[name]), *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),  # noqa: PLW1509  # nothing but prctl runs there
            )
        self._children.append(child)

    def _is_ready(self) -> bool:
        with suppress(OutsideError):
            default = Ref(kinds.NAMESPACE, "default")  # made a moment after the server calls itself ready
            return self.client._read("/readyz").status == 200 and self.client.get(default) is not None
        return False

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not ready():
            if any(child.poll() is not None for child in self._children) or time.monotonic() > end:
                told = "".join(path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log"))
                self.stop()
                raise CannotStart(f"{name} did not start: {told}")
            time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
