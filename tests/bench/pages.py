"""How long pages take in one process, without the network, and how many queries they need."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.bench.furniture import SIZES, Facts
from tests.bench.table import percentile

ROUNDS = 60
WARM_UP = 5
HEADS = ("page", "jobs", "queries", "p50 ms", "p95 ms", "kB")


def addresses(facts: Facts, size: int) -> dict[str, str]:
    """The pages that people look at all day."""

    tenant, cluster, job = facts.tenants[size], facts.clusters[size], facts.jobs[size]
    return {
        "overview": reverse("overview", kwargs={"tenant": tenant}),
        "jobs": reverse("jobs", kwargs={"tenant": tenant}),
        "queue": reverse("queue", kwargs={"tenant": tenant, "pk": cluster}),
        "job": reverse("job", kwargs={"tenant": tenant, "pk": job}),
    }


def measure(facts: Facts) -> Iterator[tuple[str, int, int, str, str, str]]:
    """One row for each page and size."""
    for size in SIZES:
        for name, address in addresses(facts, size).items():
            yield _row(facts, name, size, address)


def _row(facts: Facts, name: str, size: int, address: str) -> tuple[str, int, int, str, str, str]:

    client = Client(headers={"host": "127.0.0.1"})
    client.cookies["sessionid"] = facts.cookie
    times = []
    body = b""
    for number in range(WARM_UP + ROUNDS):
        begin = time.perf_counter()
        answer = client.get(address)
        body = answer.content
        taken = (time.perf_counter() - begin) * 1000
        assert answer.status_code == 200, f"{address}: {answer.status_code}"
        if number >= WARM_UP:
            times.append(taken)
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    half, most = percentile(times, 0.5), percentile(times, 0.95)
    return name, size, len(queries), f"{half:.1f}", f"{most:.1f}", f"{len(body) / 1024:.0f}"
