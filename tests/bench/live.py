"""From a committed change to the browser's end of the socket, through Redis and a real web process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from clusters.models import Cluster
from tenants.live.topics import Topic, publish
from tests.bench.furniture import SIZES, Facts
from tests.bench.table import percentile
from tests.bench.world import ROOT
from tests.e2e.waiting import answers, until

ROUNDS = 30
GATHER_MS = 250  # tenants.live.consumer.GATHER
HEADS = ("region, jobs", "p50 ms", "p95 ms")


@contextmanager
def web(environment: dict[str, str], port: int, *, processes: int = 1) -> Iterator[int]:
    """The web part; the pid of its process, or of the one above several."""
    command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--lifespan", "off", "--log-level", "warning"]
    command += ["--workers", str(processes)] if processes > 1 else []
    child = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        until(lambda: answers(port), "the web process answers", seconds=60)
        yield child.pid
    finally:
        child.terminate()
        child.wait(timeout=20)


def measure(facts: Facts, port: int) -> Iterator[tuple[str, str, str]]:
    """One row for each kind of region and size of queue."""
    for size in SIZES:
        cluster = Cluster.objects.get(pk=facts.clusters[size])
        for kind, key in (("job", facts.jobs[size]), ("queue", facts.clusters[size])):
            topic = Topic(cluster.tenant_id, kind, uuid.UUID(key))
            address = f"ws://127.0.0.1:{port}/ws/t/{facts.tenants[size]}/?topic={kind}:{key}"
            with connect(
                address,
                origin=Origin(f"http://127.0.0.1:{port}"),
                additional_headers={"Cookie": f"sessionid={facts.cookie}"},
                max_size=None,
            ) as socket:
                times = _rounds(socket, topic)
            yield f"{kind}, of {size:,}", f"{percentile(times, 0.5):.0f}", f"{percentile(times, 0.95):.0f}"


def _rounds(socket: ClientConnection, topic: Topic) -> list[float]:
    times = []
    socket.recv(timeout=10)  # the page's first look
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        with transaction.atomic():
            publish(topic)
        socket.recv(timeout=10)
        times.append((time.perf_counter() - begin) * 1000)
    return times
