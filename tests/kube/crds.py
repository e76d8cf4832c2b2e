"""Brings the vendors' CRDs (see crds/SOURCES.md) onto a test server."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.clients.kube.tls import context_for
from clusters.kube import kinds
from clusters.kube.objects import condition_of
from portal.lib.http import Outside
from setup.environment import CACHE
from tests.kube import platform_crds
from tests.kube.server import KubeServer

FOLDER = Path(__file__).with_name("crds")
# a proposal that no release of the operator has: a driver that needs it must fail here
LEFT_OUT = frozenset({"netris-operator-pr82"})
DEADLINE = 120.0


def files() -> list[Path]:
    """Every CRD that a vendor has released."""
    return [path for path in sorted(FOLDER.glob("*/*.yaml")) if path.parent.name not in LEFT_OUT]


def bodies() -> list[tuple[bytes, str]]:
    """Every CRD as it is sent, with its content type."""
    of_vendors = [(path.read_bytes(), "application/yaml") for path in files()]
    return of_vendors + [(body, "application/json") for body in platform_crds.documents()]


def store(programs: Mapping[str, Path]) -> Path:
    """A store that holds them all; made once per machine, since each costs the server half a second."""
    facts = hashlib.sha256(b"".join(body for body, _ in bodies()))
    for name in ("etcd", "kube-apiserver"):
        facts.update(f"{name} {programs[name].stat().st_size}".encode())
    home = CACHE if os.access(CACHE, os.W_OK) else Path(tempfile.gettempdir())
    place = home / f"kube-store-{facts.hexdigest()[:12]}"
    with (home / "kube-store.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _fill(programs, place)
    return place


def _fill(programs: Mapping[str, Path], place: Path) -> None:
    server = KubeServer(programs)
    try:
        server.start()
        install(server.client)
        server.halt()
        half = place.with_suffix(".new")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(server.store, half)
        half.rename(place)
    finally:
        server.stop()


def install(client: KubeClient) -> None:
    """Install all CRDs as they are; returns once all are Established."""
    outside = Outside(client.access.server, tls=context_for(client.access), timeout=120)
    path = f"{kinds.CRD.path()}?{urlencode({'fieldManager': 'test-vendor'})}"

    def send(one: tuple[bytes, str]) -> str:
        body, kind = one
        answer = outside.send("POST", path, headers={"Content-Type": kind}, body=body)
        assert answer.status == 201, answer.body[:2000]
        return str(json.loads(answer.body)["metadata"]["name"])

    with ThreadPoolExecutor(4) as pool:
        names = list(pool.map(send, bodies()))
    outside.close()
    end = time.monotonic() + DEADLINE
    for name in names:
        while not _is_established(client.get(Ref(kinds.CRD, name))):
            assert time.monotonic() < end, name
            time.sleep(0.1)


def _is_established(found: Manifest | None) -> bool:
    assert found is not None
    refused = condition_of(found, "NonStructuralSchema")
    assert refused is None or refused["status"] != "True", refused
    condition = condition_of(found, "Established")
    return condition is not None and condition["status"] == "True"
