"""Brings the vendors' CRDs (see crds/SOURCES.md) onto a test server."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest
from clusters.clients.kube.tls import context_for
from clusters.kube import kinds
from clusters.kube.objects import condition_of
from portal.lib.http import Outside

FOLDER = Path(__file__).with_name("crds")
# a proposal that no release of the operator has: a driver that needs it must fail here
LEFT_OUT = frozenset({"netris-operator-pr82"})
DEADLINE = 60.0


def files() -> list[Path]:
    """Every CRD that a vendor has released."""
    return [path for path in sorted(FOLDER.glob("*/*.yaml")) if path.parent.name not in LEFT_OUT]


def install(client: KubeClient, more: Iterable[bytes] = ()) -> int:
    """Install all CRDs as they are, and `more` as JSON; returns how many, once all are Established."""
    bodies = [(path.read_bytes(), "application/yaml") for path in files()]
    bodies += [(body, "application/json") for body in more]
    access = client.access
    outside = Outside(access.server, tls=context_for(access), timeout=60)
    path = f"{kinds.CRD.path()}?{urlencode({'fieldManager': 'test-vendor'})}"

    def send(one: tuple[bytes, str]) -> None:
        body, kind = one
        answer = outside.send("POST", path, headers={"Content-Type": kind}, body=body)
        assert answer.status in {201, 409}, answer.body[:2000]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, bodies))
    outside.close()
    end = time.monotonic() + DEADLINE
    while waiting := [found for found in client.list(kinds.CRD) if not _is_established(found)]:
        assert time.monotonic() < end, [found["metadata"]["name"] for found in waiting]
        time.sleep(0.1)
    return len(bodies)


def _is_established(found: Manifest) -> bool:
    refused = condition_of(found, "NonStructuralSchema")
    assert refused is None or refused["status"] != "True", refused
    condition = condition_of(found, "Established")
    return condition is not None and condition["status"] == "True"
