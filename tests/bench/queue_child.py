"""One measurement in a process of its own, so that its memory is its own: arguments WHAT URL ACCOUNT TIMES.

WHAT is "first", for one look, or "rounds", of which the median of TIMES is taken. A token for slurmrestd
comes on standard input, figures go to standard output.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import django
import msgspec

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from clusters.clients.slurmrest.dialects import dialect_for  # noqa: E402
from clusters.models import Cluster, SlurmEndpoint  # noqa: E402
from clusters.services import slurm_access  # noqa: E402
from jobs.observer.leftovers import end_unseen  # noqa: E402
from jobs.observer.look import look  # noqa: E402
from jobs.observer.rows import QUEUE_COLUMNS, save_records  # noqa: E402
from jobs.observer.sources import Memory  # noqa: E402
from portal.lib import clock  # noqa: E402
from portal.lib.http import Answer  # noqa: E402
from tests.bench.table import percentile  # noqa: E402

VERSION = "v0.0.38"
T = TypeVar("T")


class Job(msgspec.Struct):
    """24 fields as they stand in the answer: what a hand-written client would take."""

    job_id: int
    job_state: str
    name: str = ""
    user_name: str | None = None
    partition: str = ""
    account: str = ""
    qos: str = ""
    state_reason: str = ""
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_task_string: str | None = None
    nodes: str = ""
    node_count: int | None = None
    cpus: int | None = None
    tres_per_node: str = ""
    time_limit: int | None = None
    submit_time: int | None = None
    eligible_time: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    exit_code: int | None = None
    comment: str | None = None
    current_working_directory: str = ""
    standard_output: str = ""


class Jobs(msgspec.Struct):
    """The answer."""

    jobs: list[Job]


def main(what: str, url: str, account: str, times: str) -> None:
    """Measure."""
    endpoint, token = _endpoint(url), sys.stdin.read()
    figures = _first(endpoint) if what == "first" else _rounds(endpoint, account, token, int(times))
    sys.stdout.write(json.dumps(figures))


def _first(endpoint: SlurmEndpoint) -> dict[str, float]:
    """The first look of a process: it connects, reads nodes, partitions, reservations and licences too."""
    before = _most()
    _, seconds, _ = _timed(lambda: look(endpoint, Memory()))
    return {"seconds": seconds, "mib": _most() - before}


def _rounds(endpoint: SlurmEndpoint, account: str, token: str, times: int) -> dict[str, float]:
    """Medians of the bare list and of looks that read the whole queue and find nothing new, by turns.

    "known": each job compared with what the look before saw, as usual; "rows": with its row, as every ten
    minutes. Nodes and the like are read at their own pace. "ours": the list, whatever the source of looks.
    """
    memory, first = Memory(), _most()
    taken: dict[str, list[float]] = defaultdict(list)
    mib: list[float] = []

    def timed(name: str, do: Callable[[], T]) -> T:
        found, seconds, processor = _timed(do)
        taken[name].append(seconds)
        taken[f"{name} processor"].append(processor)
        mib.append(_most() - first)
        return found

    for _ in range(times):
        body = timed("download", lambda: _download(endpoint.url, account, token))
        timed("parse", lambda: msgspec.json.decode(body, type=Jobs).jobs)  # noqa: B023  # at once
        timed("ours", lambda: _compare(endpoint.cluster, body))  # noqa: B023
        if memory.req_time is None and memory.whole.at is None:
            _read_all(endpoint, memory)
        timed("known", lambda: _read_all(endpoint, memory))
        memory.full_at = memory.whole.full_at = None
        timed("rows", lambda: _read_all(endpoint, memory))
    figures = {name: percentile(values, 0.5) for name, values in taken.items()}
    return figures | {"mib": mib[1], "mib ours": mib[2]}


def _compare(cluster: Cluster, body: bytes) -> None:
    records, now = dialect_for(VERSION).jobs(Answer(200, "application/json", body)).jobs, clock.now()
    # but for what lines do not tell: rows of a long queue lack it until it is asked for
    save_records(cluster, records, looked_at=now, only=QUEUE_COLUMNS)
    end_unseen(cluster, {record.job_id for record in records}, now)


def _read_all(endpoint: SlurmEndpoint, memory: Memory) -> None:
    memory.req_time = memory.req_time and 1  # whatever changes comes after that
    memory.whole.tried_at, memory.whole.doings = None, ()
    look(_endpoint(endpoint.url), memory)


def _endpoint(url: str) -> SlurmEndpoint:
    """As the observer reads it at each look."""
    found: SlurmEndpoint = slurm_access.endpoints().get(url=url)
    return found


def _download(url: str, account: str, token: str) -> bytes:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=900)
    headers = {"X-SLURM-USER-NAME": account, "X-SLURM-USER-TOKEN": token}
    connection.request("GET", f"/slurm/{VERSION}/jobs", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, body[:300]
    return body


def _timed(do: Callable[[], T]) -> tuple[T, float, float]:
    began, worked = time.perf_counter(), time.process_time()
    found = do()
    return found, time.perf_counter() - began, time.process_time() - worked


def _most() -> float:
    """MiB that this process had at most; not by getrusage, which tells what its parent had, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (most,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(most) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:5])
