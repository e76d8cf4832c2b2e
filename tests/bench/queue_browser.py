"""From a change at slurmctld to the browser's end of the socket, and what open pages cost slurmrestd."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from django.test import Client
from websockets.asyncio.client import connect as connect_many
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from clusters.models import SlurmEndpoint
from jobs.models import Job
from tests.bench.table import percentile
from tests.builders import sign_in
from tests.jobs.long_queue import LongQueue, until
from tests.jobs.proxies import serving

ROUNDS = 20
WHOLE_ROUNDS = 5
PAGES = (1, 500)
SECONDS = 30.0


def measure(queue: LongQueue, port: int) -> Iterator[tuple[str, str]]:
    """Figures of a queue that is filled, with an observer beside it."""
    cookie = sign_in(Client(), queue.member).cookies["sessionid"].value
    mine = queue.submit(name="watched")
    with _counting(queue) as asked, queue.observed():
        queue.watch(mine)
        until(lambda: queue.state(mine) == "RUNNING", seconds=300, what="it runs")
        key = Job.objects.get(cluster=queue.cluster, slurm_job_id=mine).pk
        address = f"ws://127.0.0.1:{port}/ws/t/{queue.cluster.tenant.slug}/?topic=job:{key}"
        times = _rounds(queue, mine, address, cookie, port)
        yield "change at slurmctld to browser, watched job, p50 s", f"{percentile(times, 0.5):.1f}"
        yield "change at slurmctld to browser, watched job, p95 s", f"{percentile(times, 0.95):.1f}"
        late = [_of_the_rest(queue) for _ in range(WHOLE_ROUNDS)]
        yield "change at slurmctld to our store, any other job, longest of 5, s", f"{max(late):.1f}"
        for pages in PAGES:
            rate = asyncio.run(_rate(queue, mine, address, cookie, port, pages, asked))
            yield f"requests to slurmrestd a minute, {pages} open pages", f"{rate:.0f}"
    queue.lab.command("scancel", str(mine))


def _rounds(queue: LongQueue, mine: int, address: str, cookie: str, port: int) -> list[float]:
    times = []
    with _open(address, cookie, port) as socket:
        socket.recv(timeout=60)  # the page's first look
        for number in range(ROUNDS):
            queue.watch(mine)
            words = f"round {number}"
            began = time.perf_counter()
            queue.lab.command("scontrol", "update", f"jobid={mine}", f"comment={words}")
            while words not in str(socket.recv(timeout=60)):
                continue
            times.append(time.perf_counter() - began)
            time.sleep(0.37)  # so that rounds begin anywhere between two looks
    return times


def _open(address: str, cookie: str, port: int) -> ClientConnection:
    origin, headers = Origin(f"http://127.0.0.1:{port}"), {"Cookie": f"sessionid={cookie}"}
    return connect(address, origin=origin, additional_headers=headers, max_size=None)


def _of_the_rest(queue: LongQueue) -> float:
    rows = Job.objects.filter(cluster=queue.cluster, state="PENDING", owner=None).order_by("slurm_job_id")
    one = rows.values_list("slurm_job_id", flat=True)[0]
    began = time.perf_counter()
    queue.lab.command("scancel", str(one))
    until(lambda: queue.state(one) == "CANCELLED", seconds=120, what="it is seen")
    return time.perf_counter() - began


async def _rate(
    queue: LongQueue, mine: int, address: str, cookie: str, port: int, pages: int, asked: list[str]
) -> float:
    origin, headers = Origin(f"http://127.0.0.1:{port}"), {"Cookie": f"sessionid={cookie}"}
    sockets = [
        await connect_many(address, origin=origin, additional_headers=headers, max_size=None)
        for _ in range(pages)
    ]
    await asyncio.to_thread(queue.watch, mine)
    first = len(asked)
    await asyncio.sleep(SECONDS)
    rate = (len(asked) - first) * 60 / SECONDS
    await asyncio.gather(*(socket.close() for socket in sockets))
    return rate


@contextmanager
def _counting(queue: LongQueue) -> Iterator[list[str]]:
    """Everything goes through a proxy that notes each path."""
    asked: list[str] = []
    target = urlsplit(queue.lab.url).netloc

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        upstream = http.client.HTTPConnection(target, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        upstream.request(request.command, request.path, None, headers)
        got = upstream.getresponse()
        body = got.read()
        request.send_response(got.status)
        request.send_header("Content-Type", got.headers.get("Content-Type", "text/plain"))
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        upstream.close()

    with serving(answer) as url:
        SlurmEndpoint.objects.filter(cluster=queue.cluster).update(url=url)
        yield asked
        SlurmEndpoint.objects.filter(cluster=queue.cluster).update(url=queue.lab.url)
