"""What needs Django of the queue's figures: `python -m tests.bench.queue_inside PORT RESULT`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

from clusters.models import SlurmEndpoint  # noqa: E402
from clusters.services import slurm_access  # noqa: E402
from jobs.models import Job  # noqa: E402
from jobs.observer.look import look  # noqa: E402
from jobs.observer.sources import Memory  # noqa: E402
from tests.bench import live, queue_browser, world  # noqa: E402
from tests.bench.queue import SIZES  # noqa: E402
from tests.bench.table import percentile  # noqa: E402
from tests.builders import sign_in  # noqa: E402
from tests.clusters import fakes  # noqa: E402
from tests.jobs.long_queue import LongQueue, long_queue  # noqa: E402

PAGES = 30
LOOKS = 5
ROUNDS = 49
MOST_REPEATED = 5_000  # jobs: a list of more is asked for once
COMPARES = "a look that compares every job with what the last look saw"
COMPARES_ROWS = "a look that compares every job with its row"
Figures = dict[str, dict[int, str]]
Note = Callable[[str, str], None]


def main(port: int, result: Path) -> None:
    """Fill the queue step by step and measure at each."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as outside_folder:
        fakes.install(Path(outside_folder))
        with long_queue() as queue, live.web(dict(os.environ), port):
            filled = 0
            for size in SIZES:
                queue.fill(size - filled)
                filled = size
                _at(queue, size, port, figures)
    rows = [[label, *(cells.get(size, "") for size in SIZES)] for label, cells in figures.items()]
    result.write_text(json.dumps(rows), encoding="utf-8")


def _at(queue: LongQueue, size: int, port: int, figures: Figures) -> None:
    def note(label: str, value: str) -> None:
        figures.setdefault(label, {})[size] = value
        sys.stderr.write(f"  {size:,}: {label}: {value}\n")

    note("load average of the machine at the beginning", f"{os.getloadavg()[0]:.1f}")
    look(_endpoint(queue), Memory())  # rows of what is new are made once
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as PostgreSQL does by itself within a minute, but for the bench's
    page, work = _page(queue)
    note("(a) first page of the queue from our store, p50 ms", f"{percentile(page, 0.5):.0f}")
    note("(a) the same, p95 ms", f"{percentile(page, 0.95):.0f}")
    note("(a) processor of the web process for it, ms", f"{work:.0f}")
    squeue = _timed(3, lambda: queue.lab.command("squeue", "--noheader", "-o", "%i %T %u %P %r"))
    note("(a) squeue -o, ms", f"{percentile(squeue, 0.5) * 1000:.0f}")
    _compared(queue, size, note)
    _quick(queue, note)
    if size in (SIZES[0], SIZES[-1]):
        for label, value in queue_browser.measure(queue, port):
            note(label, value)


def _compared(queue: LongQueue, size: int, note: Note) -> None:
    """Looks that read the whole queue, and the bare list, by turns in one process."""
    first = _child(queue, "first", 1)
    note("(b) the first look of a process, which connects and reads nodes too, s", f"{first['seconds']:.3f}")
    note("(b) memory of such a look, MiB", f"{first['mib']:.0f}")
    found = _child(queue, "rounds", ROUNDS if size <= MOST_REPEATED else 1)
    bare, ours = found["download"] + found["parse"], found["download"] + found["ours"]
    note("(a, b) one GET /jobs, downloaded and parsed into a typed msgspec struct, s", f"{bare:.3f}")
    note("(b) of it the parse, s", f"{found['parse']:.3f}")
    note("(b) memory of the bare list, MiB", f"{found['mib']:.0f}")
    note("(b) the same list by us, downloaded and compared with all rows, s", f"{ours:.3f}")
    note("(b) memory of that, MiB", f"{found['mib ours']:.0f}")
    note("(b) the list by us, by the bare list", f"{ours / bare:.2f}")
    for name, label in (("known", COMPARES), ("rows", COMPARES_ROWS)):
        note(f"(b) {label}, s", f"{found[name]:.3f}")
        note(f"(b) {label}: the observer's own processor time, s", f"{found[f'{name} processor']:.3f}")
        note(f"(b) {label}, by the bare list", f"{found[name] / bare:.2f}")


def _child(queue: LongQueue, what: str, times: int) -> dict[str, float]:
    account = queue.lab.members[0].name
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.queue_child", what, queue.lab.url, account, str(times)],
        cwd=world.ROOT,
        input=queue.lab.token(account),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _quick(queue: LongQueue, note: Note) -> None:
    """Looks of one observer that goes on: with one job changed, and with none."""
    endpoint, memory = _endpoint(queue), Memory()
    look(endpoint, memory)
    number = Job.objects.filter(cluster=queue.cluster, state="PENDING").values_list(
        "slurm_job_id", flat=True
    )[0]
    words = iter(range(LOOKS))

    def change() -> None:
        queue.lab.command("scontrol", "update", f"jobid={number}", f"comment=look {next(words)}")
        time.sleep(1.1)  # slurmctld counts whole seconds
        memory.whole.tried_at = None

    source = ""

    def again() -> None:
        nonlocal source
        memory.whole.tried_at = None  # the whole queue is due in each
        source = look(endpoint, memory).source

    changed = _timed(3, again, before=change)
    again()  # what the last change left to do is done
    time.sleep(1.1)
    again()
    note("(b) source", source)
    note("(b) a look when one job changed, nodes read too, ms", f"{percentile(changed, 0.5) * 1000:.0f}")
    unchanged = percentile(_timed(LOOKS, again), 0.5)
    note("(b) a look when nothing changed, ms", f"{unchanged * 1000:.0f}")


def _timed(times: int, do: Callable[[], object], *, before: Callable[[], None] | None = None) -> list[float]:
    """Seconds of each."""
    return list(_times(times, do, before or (lambda: None)))


def _times(times: int, do: Callable[[], object], before: Callable[[], None]) -> Iterator[float]:
    for _ in range(times):
        before()
        began = time.perf_counter()
        do()
        yield time.perf_counter() - began


def _endpoint(queue: LongQueue) -> SlurmEndpoint:
    found: SlurmEndpoint = slurm_access.endpoints().get(cluster=queue.cluster)
    return found


def _page(queue: LongQueue) -> tuple[list[float], float]:
    """Milliseconds of each, and of processor time on the average."""
    tenant = queue.cluster.tenant.slug
    client = sign_in(Client(headers={"host": "127.0.0.1"}), queue.member)
    address = reverse("queue", kwargs={"tenant": tenant, "pk": queue.cluster.pk})
    client.get(address)

    def get() -> None:
        assert client.get(address).status_code == 200

    worked = time.process_time()
    times = [seconds * 1000 for seconds in _timed(PAGES, get)]
    return times, (time.process_time() - worked) * 1000 / PAGES


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
