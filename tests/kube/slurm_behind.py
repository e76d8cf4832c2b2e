"""A real Slurm in a network namespace of its own, behind Service, EndpointSlice and Pod of that address."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusters.clients.kube.models import Kind, Ref
from clusters.kube import kinds, objects
from tests.contract.slurmrest.accounts import accounts
from tests.contract.slurmrest.lab import NODES, SlurmLab
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

ENDPOINTS = Kind("v1", "Endpoints", "endpoints")
SLICES = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
SERVICE, NAMESPACE, PORT, POD = "slurm-restapi", "slurm", 6820, "slurm-restapi-0"


class NamespacedLab(SlurmLab):
    """All daemons see only each other; slurmrestd listens where the API server's machine reaches it."""

    space: str = ""
    address: str = ""

    def spawn(self, kind: str, *arguments: str, user: str = "root", **environment: str) -> None:
        """See SlurmLab."""
        if kind == "slurmrestd":
            arguments = (*arguments[:-1], f"{self.address}:{self.port}")
        entry = pwd.getpwnam(user)
        who = ["--setuid", str(entry.pw_uid), "--setgid", str(entry.pw_gid)]
        command = ["nsenter", f"--net=/run/netns/{self.space}", *who]
        number = len(self.processes)
        with (self.root / "log" / f"{kind}-{number}.out").open("wb") as output:
            self.processes[f"{kind}-{number}"] = subprocess.Popen(
                [*command, str(self.root / "bin" / kind), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={"PATH": os.environ["PATH"], "SLURM_CONF": str(self.conf), **environment},
                cwd=self.root,
                start_new_session=True,
            )

    def is_idle(self) -> bool:
        """See SlurmLab; asked inside."""
        died = [name for name, process in self.processes.items() if process.poll() is not None]
        assert not died, f"{died}: see {self.root}/log"
        done = subprocess.run(
            ["nsenter", f"--net=/run/netns/{self.space}", "sinfo", "-h", "-N", "-p", "gpu", "-o", "%T"],
            env={"PATH": os.environ["PATH"], "SLURM_CONF": str(self.conf)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split() == ["idle"] * NODES


@contextmanager
def slurm_behind(server: KubeServer) -> Iterator[NamespacedLab]:
    """Slurm behind the API server for the duration of the block."""
    root = Path(tempfile.mkdtemp(prefix="fhlab-"))
    root.chmod(0o755)
    with accounts(2) as made, _network() as (space, address):
        lab = NamespacedLab(root, f"lab{secrets.token_hex(3)}", 10_000, made)
        lab.space, lab.address = space, address
        try:
            lab.start()
            _publish(server, address, lab.port)
            yield lab
        finally:
            _withdraw(server)
            lab.stop()
            shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _network() -> Iterator[tuple[str, str]]:
    """A namespace with one link to this machine, of addresses that no network uses (RFC 2544)."""
    name, third = f"fhk{secrets.token_hex(4)}", secrets.randbelow(250)
    block = secrets.randbelow(60) * 4
    here, there = (f"198.18.{third}.{block + last}" for last in (1, 2))
    links = (f"{name}a", f"{name}b")
    _ip("netns", "add", name)
    try:
        _ip("link", "add", links[0], "type", "veth", "peer", "name", links[1], "netns", name)
        _ip("address", "add", f"{here}/30", "dev", links[0])
        _ip("link", "set", links[0], "up")
        _ip("-n", name, "address", "add", f"{there}/30", "dev", links[1])
        for link in (links[1], "lo"):
            _ip("-n", name, "link", "set", link, "up")
        yield name, there
    finally:
        _ip("netns", "del", name)  # and with it both ends of the link


def _publish(server: KubeServer, address: str, port: int) -> None:
    """As slurm-operator and Kubernetes do it; an API server sends only to addresses of pods."""
    hands = Hands(server.client)
    server.ensure_namespace(NAMESPACE)
    named = {"name": "slurmrestd", "port": PORT, "targetPort": port, "protocol": "TCP"}
    service = objects.manifest(kinds.SERVICE, SERVICE, {"spec": {"ports": [named]}}, namespace=NAMESPACE)
    containers = [{"name": "slurmrestd", "image": "registry.invalid/slurmrestd:1"}]
    pod = objects.manifest(kinds.POD, POD, {"spec": {"containers": containers}}, namespace=NAMESPACE)
    assert hands.create(kinds.SERVICE, service)
    assert hands.create(kinds.POD, pod)
    status: dict[str, Any] = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    hands.write_status(Ref(kinds.POD, POD, NAMESPACE), status, "status")
    target = {"kind": "Pod", "name": POD, "namespace": NAMESPACE}
    inner = {"name": "slurmrestd", "port": port, "protocol": "TCP"}
    subset = {"addresses": [{"ip": address, "targetRef": target}], "ports": [inner]}
    endpoints = objects.manifest(ENDPOINTS, SERVICE, {"subsets": [subset]}, namespace=NAMESPACE)
    assert hands.create(ENDPOINTS, endpoints)
    listed = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}, "targetRef": target}],
        "ports": [inner],
    }
    labels = {"kubernetes.io/service-name": SERVICE}
    made = objects.manifest(SLICES, f"{SERVICE}-1", listed, namespace=NAMESPACE, labels=labels)
    assert hands.create(SLICES, made)


def _withdraw(server: KubeServer) -> None:
    hands = Hands(server.client)
    for kind, name in (
        (SLICES, f"{SERVICE}-1"),
        (ENDPOINTS, SERVICE),
        (kinds.SERVICE, SERVICE),
        (kinds.POD, POD),
    ):
        hands.release(Ref(kind, name, NAMESPACE))


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
