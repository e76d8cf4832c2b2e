"""Two hundred sockets at once, on one topic and on one each: until the last has what changed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator

from django.db import close_old_connections, transaction
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from clusters.models import Cluster
from jobs.models import Job
from tenants.live.topics import Topic, publish
from tests.bench.furniture import SIZES, Facts
from tests.bench.machine import memory_of
from tests.bench.table import percentile

CLIENTS = 200
ROUNDS = 5
HEADS = ("sockets", "topics", "connected in s", "p50 ms", "p95 ms", "last ms", "web MiB")


def measure(facts: Facts, port: int, pid: int) -> Iterator[tuple[int, int, str, str, str, str, str]]:
    """A row for one topic, and one for as many topics as sockets."""
    size = SIZES[-1]
    cluster = Cluster.objects.get(pk=facts.clusters[size])
    keys = list(Job.objects.filter(cluster=cluster).order_by("-submit_time").values_list("pk", flat=True))
    one = [Topic(cluster.tenant_id, "job", keys[0])]
    many = [Topic(cluster.tenant_id, "job", key) for key in keys[:CLIENTS]]
    for topics in (one, many):
        took, times = asyncio.run(_run(topics, facts, facts.tenants[size], port))
        memory = memory_of(pid)
        figures = [f"{value:.0f}" for value in (percentile(times, 0.5), percentile(times, 0.95), max(times))]
        yield CLIENTS, len(topics), f"{took:.1f}", figures[0], figures[1], figures[2], f"{memory:.0f}"


async def _run(topics: list[Topic], facts: Facts, slug: str, port: int) -> tuple[float, list[float]]:
    begin = time.perf_counter()
    sockets = await asyncio.gather(
        *(_open(topics[number % len(topics)].object_id, facts, slug, port) for number in range(CLIENTS))
    )
    took = time.perf_counter() - begin
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        waiting = [asyncio.create_task(_until(socket, begin)) for socket in sockets]
        await asyncio.to_thread(_publish, topics)
        times += await asyncio.gather(*waiting)
    await asyncio.gather(*(socket.close() for socket in sockets))
    return took, times


async def _open(key: uuid.UUID, facts: Facts, slug: str, port: int) -> ClientConnection:
    socket = await connect(
        f"ws://127.0.0.1:{port}/ws/t/{slug}/?topic=job:{key}",
        origin=Origin(f"http://127.0.0.1:{port}"),
        additional_headers={"Cookie": f"sessionid={facts.cookie}"},
        max_size=None,
        open_timeout=60,
    )
    await asyncio.wait_for(socket.recv(), 60)  # the page's first look
    return socket


async def _until(socket: ClientConnection, begin: float) -> float:
    await asyncio.wait_for(socket.recv(), 60)
    return (time.perf_counter() - begin) * 1000


def _publish(topics: list[Topic]) -> None:
    close_old_connections()
    with transaction.atomic():
        for topic in topics:
            publish(topic)
