"""How long pages take in one process, without the network, and how many queries they need."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.bench.furniture import SIZES, Facts
from tests.bench.table import percentile

ROUNDS = 60
WARM_UP = 5
HEADS = ("page", "rows", "queries", "SQL ms", "p50 ms", "p95 ms", "p95 by that of 10 rows", "kB")
Line = tuple[str, int, int, str, str, str, str, str]


@dataclass
class Look:
    """What was measured of one page, by the number of rows."""

    taken: dict[int, list[float]]  # milliseconds of each round
    queries: dict[int, int] = field(default_factory=dict)
    sql: dict[int, float] = field(default_factory=dict)  # milliseconds in the database
    kilobytes: dict[int, float] = field(default_factory=dict)


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


def measure(facts: Facts) -> Iterator[Line]:
    """One row for each page and size; the sizes of a page take turns, so that both meet the same machine."""
    for name in addresses(facts, SIZES[0]):
        yield from _page(facts, name)
    for name, address in OPERATOR.items():  # one operator sees all tenants: there is but one size
        yield _row(name, SIZES[-1], _look({SIZES[-1]: reverse(address)}, facts.operator), 0.0)


def _page(facts: Facts, name: str) -> Iterator[Line]:
    look = _look({size: addresses(facts, size)[name] for size in SIZES}, facts.cookie)
    base = percentile(look.taken[SIZES[0]], 0.95)
    for size in SIZES:
        yield _row(name, size, look, base)


def _look(pages: dict[int, str], cookie: str) -> Look:
    """Look at each size of one page again and again, in turn."""
    client = Client(headers={"host": "127.0.0.1"})
    client.cookies["sessionid"] = cookie
    look = Look({size: [] for size in pages})
    for number in range(WARM_UP + ROUNDS):
        for size, address in pages.items():
            begin = time.perf_counter()
            answer = client.get(address)
            spent = (time.perf_counter() - begin) * 1000
            assert answer.status_code == 200, f"{address}: {answer.status_code}"
            look.kilobytes[size] = len(answer.content) / 1024
            if number >= WARM_UP:
                look.taken[size].append(spent)
    for size, address in pages.items():
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        selects = [query for query in captured if query["sql"].startswith("SELECT")]
        look.queries[size] = len(selects)
        look.sql[size] = sum(float(query["time"]) for query in selects) * 1000
    return look


def _row(name: str, size: int, look: Look, base: float) -> Line:
    half, most = percentile(look.taken[size], 0.5), percentile(look.taken[size], 0.95)
    ratio = f"{most / base:.2f}" if base else "-"
    figures = f"{look.sql[size]:.0f}", f"{half:.1f}", f"{most:.1f}", ratio, f"{look.kilobytes[size]:.0f}"
    return name, size, look.queries[size], *figures
