"""One measurement in a process of its own, so that its memory is its own: arguments WHAT URL ACCOUNT TIMES.

WHAT is "pass" or "list", and the median of TIMES rounds is taken. A token for slurmrestd comes on standard
input, figures go to standard output.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import django
import msgspec

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from clusters.clients.slurmrest.dialects import dialect_for  # noqa: E402
from clusters.models import SlurmEndpoint  # noqa: E402
from clusters.services import slurm_access  # noqa: E402
from jobs.observer.leftovers import end_missing  # noqa: E402
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
    figures = _pass(endpoint, int(times)) if what == "pass" else _list(endpoint, account, token, int(times))
    sys.stdout.write(json.dumps(figures))


def _pass(endpoint: SlurmEndpoint, times: int) -> dict[str, float]:
    """Looks that read the whole queue, by the source that the observer chooses, and find nothing new.

    "known": each job compared with what the look before saw, as usual; "rows": with its row, as every ten
    minutes. The first one of a process also connects, and reads nodes, partitions, reservations and licences,
    which later ones do at their own pace.
    """
    first, memory = _most(), Memory()
    _, began, _ = _timed(lambda: look(endpoint, memory))
    figures = {"first": began, "mib": _most() - first}

    def again() -> None:
        memory.req_time = memory.whole.tried_at = None
        memory.whole.doings = ()
        look(_endpoint(endpoint.url), memory)

    def anew() -> None:
        memory.full_at = memory.whole.full_at = None
        again()

    for name, do in (("known", again), ("rows", anew)):
        looks = [_timed(do) for _ in range(times)]
        figures[name] = percentile([one[1] for one in looks], 0.5)
        figures[f"{name} processor"] = min(one[2] for one in looks)
    return figures


def _list(endpoint: SlurmEndpoint, account: str, token: str, times: int) -> dict[str, float]:
    """The list of all jobs: as bare as it can be, then the same answer by the portal, rows compared."""
    first = _most()
    loads, parses, body = [], [], b""
    for _ in range(times):
        body, loaded, _ = _timed(lambda: _download(endpoint.url, account, token))
        _, parsed, _ = _timed(lambda: msgspec.json.decode(body, type=Jobs).jobs)  # noqa: B023  # at once
        loads.append(loaded)
        parses.append(parsed)
    figures = {"download": percentile(loads, 0.5), "parse": percentile(parses, 0.5), "mib": _most() - first}
    answer = Answer(200, "application/json", body)
    cluster = endpoint.cluster

    def compare() -> None:
        records, now = dialect_for(VERSION).jobs(answer).jobs, clock.now()
        # but for what lines do not tell: rows of a long queue lack it until it is asked for
        save_records(cluster, records, looked_at=now, only=QUEUE_COLUMNS)
        end_missing(cluster, {record.job_id for record in records}, now)

    ours = [_timed(compare)[1] for _ in range(times)]
    return figures | {"ours": percentile(ours, 0.5), "mib_ours": _most() - first}


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
