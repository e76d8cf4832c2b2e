"""What needs Django of the queue's figures: `python -m tests.bench.queue_inside PORT RESULT`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

from clusters.clients.slurmrest.client import RestGateway  # noqa: E402
from clusters.models import SlurmEndpoint  # noqa: E402
from jobs import outside  # noqa: E402
from jobs.observer.look import LIST, look  # noqa: E402
from jobs.observer.sources import Memory  # noqa: E402
from tests.bench import live, machine, queue_browser, queue_submits  # noqa: E402
from tests.bench.queue import SIZES  # noqa: E402
from tests.bench.table import percentile  # noqa: E402
from tests.builders import sign_in  # noqa: E402
from tests.clusters import fakes  # noqa: E402
from tests.jobs.long_queue import LongQueue, long_queue  # noqa: E402

PAGES = 30
PATIENCE = 600.0  # seconds for the whole list of a long queue
Figures = dict[str, dict[int, str]]


def main(port: int, result: Path) -> None:
    """Fill the queue step by step and measure at each."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as outside_folder:
        fakes.install(Path(outside_folder))
        with long_queue() as queue, live.web(dict(os.environ), port):
            for label, value in queue_submits.measure(queue):
                figures.setdefault(label, {})[SIZES[0]] = value
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

    _looks(queue, note)
    note("first page of the queue from our store, p50 ms", f"{_page(queue):.0f}")
    began = time.perf_counter()
    queue.lab.command("squeue", "--noheader", "-o", "%i %T %u %P %r")
    note("the same by squeue -o, ms", f"{(time.perf_counter() - began) * 1000:.0f}")
    for label, value in queue_browser.measure(queue, port):
        note(label, value)


def _looks(queue: LongQueue, note: Callable[[str, str], None]) -> None:
    """The observer's look by the source that it chooses, then the bare list, once each."""
    memory = Memory()
    endpoint = SlurmEndpoint.objects.select_related("cluster__site").get(cluster=queue.cluster)
    look(endpoint, memory)  # rows of what is new are made once
    fresh = Memory()
    with _peak() as peak:
        began = time.perf_counter()
        source = look(endpoint, fresh).source
        taken = time.perf_counter() - began
    note("observer: source", source)
    note("observer: a pass that compares everything, s", f"{taken:.2f}")
    note("observer: memory on top of that, MiB", f"{peak():.0f}")
    began = time.perf_counter()
    fresh.whole.tried_at = None
    look(endpoint, fresh)
    note("observer: a pass when nothing changed, ms", f"{(time.perf_counter() - began) * 1000:.0f}")
    observer = queue.cluster.identities.get(kind="observer")
    with outside.gateway_for(observer, deadline=PATIENCE) as gateway, _peak() as peak:
        assert isinstance(gateway, RestGateway)
        began = time.perf_counter()
        gateway.jobs()
        bare = time.perf_counter() - began
    note("bare GET /jobs, downloaded and parsed, s", f"{bare:.2f}")
    note("bare GET /jobs: memory, MiB", f"{peak():.0f}")
    note("a pass by that", f"{taken / bare:.2f}" + ("" if source == LIST else " (another source)"))


def _page(queue: LongQueue) -> float:
    tenant = queue.cluster.tenant.slug
    client = sign_in(Client(headers={"host": "127.0.0.1"}), queue.member)
    address = reverse("queue", kwargs={"tenant": tenant, "pk": queue.cluster.pk})
    times = []
    for _ in range(PAGES):
        began = time.perf_counter()
        assert client.get(address).status_code == 200
        times.append((time.perf_counter() - began) * 1000)
    return percentile(times, 0.5)


class _peak:  # noqa: N801  # used as a word in `with`
    """How much the process grew at most in the block, in MiB; call it afterwards."""

    def __enter__(self) -> Callable[[], float]:
        self._most = self._first = machine.memory_of(os.getpid())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return lambda: self._most - self._first

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.05):
            self._most = max(self._most, machine.memory_of(os.getpid()))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
