"""How long pages take in one process, without the network, and how many queries they need."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.bench.furniture import SIZES, Facts
from tests.bench.machine import nanoseconds_of
from tests.bench.table import percentile

ROUNDS = 60
WARM_UP = 5
FLAT = 1.2  # what p95 may grow by from the fewest rows to the most
HEADS = (
    "page",
    "rows",
    "queries",
    "SQL ms",
    "p50 ms",
    "p95 ms",
    "by that of 10",
    "processor p50 ms",
    "processor p95 ms",
    "by that of 10",
    "kB",
)
Line = tuple[str, ...]


@dataclass
class Look:
    """What was measured of one page, by the number of rows."""

    taken: dict[int, list[float]]  # milliseconds of each round
    worked: dict[int, list[float]]  # milliseconds of processor time, the database's included
    queries: dict[int, int] = field(default_factory=dict)
    sql: dict[int, float] = field(default_factory=dict)  # milliseconds in the database
    kilobytes: dict[int, float] = field(default_factory=dict)


def addresses(facts: Facts, size: int) -> dict[str, str]:
    """The pages that people look at all day; every list, with `size` rows in it."""
    here = {"tenant": facts.tenants[size]}
    cluster, job = here | {"pk": facts.clusters[size]}, here | {"pk": facts.jobs[size]}
    busy = {"tenant": facts.busy_tenants[size], "pk": facts.busy_clusters[size]}
    find = reverse("search", kwargs=here)
    return {
        "overview": reverse("overview", kwargs=here),
        "orders": reverse("orders", kwargs=here),
        "jobs, mine": reverse("jobs", kwargs=here),
        "jobs, everyone's": f"{reverse('jobs', kwargs=here)}?who=everyone",
        "queue": reverse("queue", kwargs=busy),
        "job": reverse("job", kwargs=job),
        "members": reverse("members", kwargs=here),
        "audit": reverse("audit", kwargs=here),
        "events of a cluster": reverse("cluster-events", kwargs=cluster),
        "cluster with plots": reverse("cluster", kwargs=cluster),
        "search by id": f"{find}?q={facts.slurm_ids[size]}",
        "search by name": f"{find}?q=sweep",
    }


OPERATOR = {
    "operations": "admin:index",
    "operations, orders": "admin:clusters_order_changelist",
    "operations, jobs": "admin:jobs_job_changelist",
}


def measure(facts: Facts) -> Iterator[Line]:
    """One row for each page and size; the sizes of a page take turns, so that all meet the same machine."""
    for name in addresses(facts, SIZES[0]):
        yield from _page(facts, name)
    for name, address in OPERATOR.items():  # one operator sees all tenants: there is but one size
        yield _row(name, SIZES[-1], _look({SIZES[-1]: reverse(address)}, facts.operator))


def verdict(lines: Iterable[Sequence[str]]) -> str:
    """Which pages are not flat from the fewest rows to the most, by either p95."""
    most = f"{SIZES[-1]:,}"
    grown = [
        f"{line[0]} ({line[6]} by the clock, {line[9]} by the processor)"
        for line in lines
        if line[1] == most and line[6] != "-" and max(float(line[6]), float(line[9])) > FLAT
    ]
    told = ", ".join(grown) or "none"
    return f"Pages whose p95 grows by more than {FLAT - 1:.0%} from {SIZES[0]} to {most} rows: {told}."


def _page(facts: Facts, name: str) -> Iterator[Line]:
    look = _look({size: addresses(facts, size)[name] for size in SIZES}, facts.cookie)
    for size in SIZES:
        yield _row(name, size, look)


def _look(pages: dict[int, str], cookie: str) -> Look:
    """Look at each size of one page again and again, in turn, another one first in each round."""
    client = Client(headers={"host": "127.0.0.1"})
    client.cookies["sessionid"] = cookie
    look = Look({size: [] for size in pages}, {size: [] for size in pages})
    turns = list(pages.items())
    server = _backend()
    for number in range(WARM_UP + ROUNDS):
        turns = turns[1:] + turns[:1]
        for size, address in turns:
            worked = _processor(server)
            begin = time.perf_counter()
            answer = client.get(address)
            spent = (time.perf_counter() - begin) * 1000
            worked = _processor(server) - worked
            assert answer.status_code == 200, f"{address}: {answer.status_code}"
            look.kilobytes[size] = len(answer.content) / 1024
            if number >= WARM_UP:
                look.taken[size].append(spent)
                look.worked[size].append(worked)
    for size, address in pages.items():
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        selects = [query for query in captured if query["sql"].startswith("SELECT")]
        look.queries[size] = len(selects)
        look.sql[size] = sum(float(query["time"]) for query in selects) * 1000
    return look


def _backend() -> int:
    """The process of PostgreSQL that serves this one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _processor(server: int) -> float:
    """Milliseconds that this process and its server have worked so far."""
    return (time.process_time_ns() + nanoseconds_of(server)) / 1e6


def _row(name: str, size: int, look: Look) -> Line:
    figures = [f"{look.sql[size]:.0f}"]
    for values in look.taken, look.worked:
        half, most = percentile(values[size], 0.5), percentile(values[size], 0.95)
        compared = len(values) > 1
        ratio = f"{most / percentile(values[SIZES[0]], 0.95):.2f}" if compared else "-"
        figures += [f"{half:.1f}", f"{most:.1f}", ratio]
    return name, f"{size:,}", str(look.queries[size]), *figures, f"{look.kilobytes[size]:.0f}"
