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
HEADS = ("page", "rows", "queries", "p50 ms", "p95 ms", "p95 to that of 10 rows", "kB")


def addresses(facts: Facts, size: int) -> dict[str, str]:
    """The pages that people look at all day."""
    here = {"tenant": facts.tenants[size]}
    cluster, job = here | {"pk": facts.clusters[size]}, here | {"pk": facts.jobs[size]}
    find = reverse("search", kwargs=here)
    return {
        "overview": reverse("overview", kwargs=here),
        "orders": reverse("orders", kwargs=here),
        "jobs, mine": reverse("jobs", kwargs=here),
        "jobs, everyone's": f"{reverse('jobs', kwargs=here)}?who=everyone",
        "queue": reverse("queue", kwargs=cluster),
        "job": reverse("job", kwargs=job),
        "audit": reverse("audit", kwargs=here),
        "cluster with plots": reverse("cluster", kwargs=cluster),
        "search by id": f"{find}?q={facts.slurm_ids[size]}",
        "search by name": f"{find}?q=train-7",
    }


OPERATOR = {
    "operations": "admin:index",
    "operations, orders": "admin:clusters_order_changelist",
    "operations, jobs": "admin:jobs_job_changelist",
}


def measure(facts: Facts) -> Iterator[tuple[str, int, int, str, str, str, str]]:
    """One row for each page and size; the sizes of a page take turns, so that both meet the same machine."""
    for name in addresses(facts, SIZES[0]):
        yield from _page(facts, name)
    for name, address in OPERATOR.items():  # one operator sees all tenants: there is but one size
        taken, queries, size = _look({SIZES[-1]: reverse(address)}, facts.operator)
        yield _row(name, SIZES[-1], taken, queries, size, 0.0)


def _page(facts: Facts, name: str) -> Iterator[tuple[str, int, int, str, str, str, str]]:
    taken, queries, kilobytes = _look({size: addresses(facts, size)[name] for size in SIZES}, facts.cookie)
    base = percentile(taken[SIZES[0]], 0.95)
    for size in SIZES:
        yield _row(name, size, taken, queries, kilobytes, base)


def _look(
    pages: dict[int, str], cookie: str
) -> tuple[dict[int, list[float]], dict[int, int], dict[int, float]]:
    """Milliseconds of each round, queries and size of each page."""
    client = Client(headers={"host": "127.0.0.1"})
    client.cookies["sessionid"] = cookie
    taken: dict[int, list[float]] = {size: [] for size in pages}
    queries, kilobytes = {}, {}
    for number in range(WARM_UP + ROUNDS):
        for size, address in pages.items():
            begin = time.perf_counter()
            answer = client.get(address)
            spent = (time.perf_counter() - begin) * 1000
            assert answer.status_code == 200, f"{address}: {answer.status_code}"
            kilobytes[size] = len(answer.content) / 1024
            if number >= WARM_UP:
                taken[size].append(spent)
    for size, address in pages.items():
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        queries[size] = sum(query["sql"].startswith("SELECT") for query in captured)
    return taken, queries, kilobytes


def _row(
    name: str,
    size: int,
    taken: dict[int, list[float]],
    queries: dict[int, int],
    kilobytes: dict[int, float],
    base: float,
) -> tuple[str, int, int, str, str, str, str]:
    half, most = percentile(taken[size], 0.5), percentile(taken[size], 0.95)
    ratio = f"{most / base:.2f}" if base else "-"
    return name, size, queries[size], f"{half:.1f}", f"{most:.1f}", ratio, f"{kilobytes[size]:.0f}"
