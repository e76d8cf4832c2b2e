"""How many pages a second two web processes serve; who asks runs on the same cores."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator

from tests.bench.furniture import SIZES, Facts
from tests.bench.pages import addresses
from tests.bench.table import percentile

SECONDS = 6.0
CLIENTS = 8
HEADS = ("page", "requests/s", "p50 ms", "p95 ms")
PAGES = ("jobs, mine", "queue", "orders", "overview", "job")


def measure(facts: Facts, port: int) -> Iterator[tuple[str, str, str, str]]:
    """One row for each page: `CLIENTS` connections that ask again as soon as they have an answer."""
    size = SIZES[-1]
    for name in PAGES:
        address = addresses(facts, size)[name]
        _ask(port, address, facts.cookie, seconds=2.0)
        times = _ask(port, address, facts.cookie, seconds=SECONDS)
        rate = len(times) / SECONDS
        yield name, f"{rate:.0f}", f"{percentile(times, 0.5):.0f}", f"{percentile(times, 0.95):.0f}"


def _ask(port: int, address: str, cookie: str, *, seconds: float) -> list[float]:
    taken: list[float] = []
    threads = [
        threading.Thread(target=_client, args=(port, address, cookie, seconds, taken)) for _ in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def _client(port: int, address: str, cookie: str, seconds: float, taken: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        connection.request("GET", address, headers={"Cookie": f"sessionid={cookie}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, f"{address}: {answer.status}"
        taken.append((time.perf_counter() - begin) * 1000)
    connection.close()
