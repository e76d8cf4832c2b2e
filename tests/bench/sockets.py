"""Two hundred people at once, on one topic and on one each: until the last has what changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from django.db import close_old_connections, transaction
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from clusters.models import Cluster
from jobs.models import Job
from tenants.live.topics import Topic, publish
from tests.bench.furniture import PEOPLE, SIZES, Facts
from tests.bench.machine import memory_of, seconds_of
from tests.bench.table import percentile

CLIENTS = PEOPLE
ROUNDS = 5
HEADS = ("topics", "all connected in s", "p50 ms", "p95 ms", "last ms", "processor ms a change", "MiB")


def measure(facts: Facts, port: int, pid: int) -> Iterator[tuple[str, ...]]:
    """A row for one job, for one queue, and for as many jobs as sockets."""
    size = SIZES[-1]
    cluster = Cluster.objects.get(pk=facts.clusters[size])
    keys = list(Job.objects.filter(cluster=cluster).order_by("-submit_time").values_list("pk", flat=True))
    jobs = [Topic(cluster.tenant_id, "job", key) for key in keys[:CLIENTS]]
    queue = Topic(cluster.tenant_id, "queue", cluster.pk)
    for name, topics in (
        ("one job", jobs[:1]),
        ("one queue", [queue]),
        (f"{CLIENTS} jobs, all changed at once", jobs),
    ):
        took, times, work = asyncio.run(_run(topics, facts, facts.tenants[size], port, pid))
        measured = percentile(times, 0.5), percentile(times, 0.95), max(times), work
        figures = [f"{value:.0f}" for value in measured]
        yield name, f"{took:.1f}", *figures, f"{memory_of(pid):.0f}"


async def _run(
    topics: list[Topic], facts: Facts, slug: str, port: int, pid: int
) -> tuple[float, list[float], float]:
    begin = time.perf_counter()
    sockets = await asyncio.gather(
        *(
            _open(topics[number % len(topics)], facts.people[number], f"ws://127.0.0.1:{port}/ws/t/{slug}/")
            for number in range(CLIENTS)
        )
    )
    took = time.perf_counter() - begin
    times: list[float] = []
    worked = seconds_of(pid)
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        waiting = [asyncio.create_task(_until(socket, begin)) for socket in sockets]
        await asyncio.to_thread(_publish, topics)
        times += await asyncio.gather(*waiting)
    worked = (seconds_of(pid) - worked) * 1000 / ROUNDS
    await asyncio.gather(*(socket.close() for socket in sockets))
    return took, times, worked


async def _open(topic: Topic, cookie: str, address: str) -> ClientConnection:
    socket = await connect(
        f"{address}?topic={topic.kind}:{topic.object_id}",
        origin=Origin(f"http:{address.partition(':')[2].partition('/ws/')[0]}"),
        additional_headers={"Cookie": f"sessionid={cookie}"},
        max_size=None,
        open_timeout=120,
    )
    await asyncio.wait_for(socket.recv(), 120)  # the page's first look
    return socket


async def _until(socket: ClientConnection, begin: float) -> float:
    await asyncio.wait_for(socket.recv(), 120)
    return (time.perf_counter() - begin) * 1000


def _publish(topics: list[Topic]) -> None:
    close_old_connections()
    with transaction.atomic():
        for topic in topics:
            publish(topic)
