"""From a change at slurmctld to the browser's end of the socket, and what open pages cost slurmrestd."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from django.test import Client
from websockets.asyncio.client import connect as connect_many
from websockets.sync.client import connect
from websockets.typing import Origin

from clusters.models import SlurmEndpoint
from jobs.models import Job
from jobs.observer import pace, whole
from tests.bench.table import percentile
from tests.builders import sign_in
from tests.jobs.long_queue import LongQueue, until
from tests.jobs.proxies import serving

ROUNDS = 20
WHOLE_ROUNDS = 8
PAGES = (1, 500)
DIFFERENT = 400  # jobs; with more than 500 the pages that were opened first are no longer told apart
AT_ONCE = 25  # sockets that are opened at a time
SECONDS = 60.0
TURN = 0.618  # of an interval: rounds that begin so far apart begin everywhere in it


@dataclass(frozen=True, slots=True)
class Browser:
    """Somebody who is signed in."""

    port: int
    tenant: str
    cookie: str

    def address(self, topic: str) -> str:
        """Of a socket that shows one region."""
        return f"ws://127.0.0.1:{self.port}/ws/t/{self.tenant}/?topic={topic}"

    @property
    def origin(self) -> Origin:
        """Of its pages."""
        return Origin(f"http://127.0.0.1:{self.port}")

    @property
    def headers(self) -> dict[str, str]:
        """With the session."""
        return {"Cookie": f"sessionid={self.cookie}"}


def measure(queue: LongQueue, port: int) -> Iterator[tuple[str, str]]:
    """Figures of a queue that is filled, with an observer beside it."""
    cookie = sign_in(Client(), queue.member).cookies["sessionid"].value
    browser = Browser(port, queue.cluster.tenant.slug, cookie)
    mine = queue.submit(name="watched")
    with _counting(queue) as asked, queue.observed():
        queue.watch(mine)
        until(lambda: queue.state(mine) == "RUNNING", seconds=300, what="it runs")
        key = Job.objects.get(cluster=queue.cluster, slurm_job_id=mine).pk
        topics = f"job:{key}", f"queue:{queue.cluster.pk}"
        times = _rounds(queue, mine, mine, "comment", browser.address(topics[0]), browser, ROUNDS)
        yield "(d) change at slurmctld to browser, watched job, p50 s", f"{percentile(times, 0.5):.1f}"
        yield "(d) the same, p95 s", f"{percentile(times, 0.95):.1f}"
        other = _first_that_waits(queue)
        times = _rounds(queue, mine, other, "name", browser.address(topics[1]), browser, WHOLE_ROUNDS)
        yield (
            "(d) change at slurmctld to browser, any job of the queue, p50 s",
            f"{percentile(times, 0.5):.1f}",
        )
        yield f"(d) the same, longest of {WHOLE_ROUNDS}, s", f"{max(times):.1f}"
        for pages in PAGES:
            rate = asyncio.run(_rate(queue, [mine], topics, browser, pages, asked))
            yield f"(c) requests to slurmrestd a minute, open pages: {pages}", f"{rate:.0f}"
        rows = Job.objects.filter(cluster=queue.cluster, state="PENDING").order_by("slurm_job_id")
        several = list(rows.values_list("slurm_job_id", flat=True)[:DIFFERENT])
        rate = asyncio.run(_rate(queue, [mine, *several], topics, browser, 1, asked))
        yield f"(c) the same, pages of different jobs: {DIFFERENT} at most", f"{rate:.0f}"
    queue.lab.command("scancel", str(mine))


def _rounds(
    queue: LongQueue, mine: int, number: int, what: str, address: str, browser: Browser, rounds: int
) -> list[float]:
    """Seconds from each change of job `number` until its new words come; somebody watches `mine`."""
    interval = (pace.WATCHED if number == mine else whole.EVERY).total_seconds()
    times = []
    with connect(address, origin=browser.origin, additional_headers=browser.headers, max_size=None) as socket:
        socket.recv(timeout=60)  # the page's first look
        for turn in range(rounds):
            time.sleep(turn * TURN % 1 * interval)  # so that changes fall anywhere between two looks
            queue.watch(mine)
            words = f"round {turn} of {what}"
            began = time.perf_counter()
            queue.lab.command("scontrol", "update", f"jobid={number}", f"{what}={words}")
            while words not in str(socket.recv(timeout=120)):
                continue
            times.append(time.perf_counter() - began)
    return times


def _first_that_waits(queue: LongQueue) -> int:
    """The one on top of those that wait, and nobody's: the page shows it."""
    rows = Job.objects.filter(cluster=queue.cluster, state="PENDING", owner=None)
    return rows.order_by("-submit_time", "-id").values_list("slurm_job_id", flat=True)[0]


async def _rate(
    queue: LongQueue,
    watched: Sequence[int],
    topics: tuple[str, ...],
    browser: Browser,
    pages: int,
    asked: list[str],
) -> float:
    """Requests a minute while so many sockets are open, every other one of the job, and these are watched."""
    addresses = itertools.islice(itertools.cycle(map(browser.address, topics)), pages)
    sockets = []
    for some in _batches(list(addresses), AT_ONCE):
        sockets += await asyncio.gather(
            *(
                connect_many(
                    address,
                    origin=browser.origin,
                    additional_headers=browser.headers,
                    max_size=None,
                    open_timeout=120,
                )
                for address in some
            )
        )
    for number in watched:
        await asyncio.to_thread(queue.watch, number)
    await asyncio.sleep(pace.WATCHED.total_seconds())
    first = len(asked)
    await asyncio.sleep(SECONDS)
    rate = (len(asked) - first) * 60 / SECONDS
    await asyncio.gather(*(socket.close() for socket in sockets))
    return rate


def _batches(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


@contextmanager
def _counting(queue: LongQueue) -> Iterator[list[str]]:
    """Everything goes through a proxy that notes each path."""
    asked: list[str] = []
    target = urlsplit(queue.lab.url).netloc
    with serving(_forward(target, asked)) as url:
        SlurmEndpoint.objects.filter(cluster=queue.cluster).update(url=url)
        yield asked
        SlurmEndpoint.objects.filter(cluster=queue.cluster).update(url=queue.lab.url)


def _forward(target: str, asked: list[str]) -> Callable[[BaseHTTPRequestHandler], None]:
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

    return answer
