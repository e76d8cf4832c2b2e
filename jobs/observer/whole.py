"""A pass over a queue that is too long to be listed: by the console's lines, in constant memory."""

from __future__ import annotations

import datetime as dt
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Final, TypeVar

import structlog
from django.db import connection

from clusters.clients.slurm_console.lines import Line, parse
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import FINISHED_STATES, JobRecord
from clusters.models import Cluster, SlurmEndpoint, SlurmIdentity
from jobs import outside
from jobs.models import ACTIVE_STATES, Job
from jobs.observer import singles
from jobs.observer.columns import moment
from jobs.observer.queue_lines import is_finished, record_of
from jobs.observer.resolve import resolve_submissions
from jobs.observer.rows import QUEUE_COLUMNS, end_rows, save_records
from jobs.observer.sources import CONSOLE, SINGLE, Memory, Whole
from jobs.parsing.array import count_tasks
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState

EVERY: Final = dt.timedelta(seconds=10)
DUTY: Final = 0.2  # of the time at most, so that a slow machine does nothing else the less
FULL_EVERY: Final = dt.timedelta(minutes=10)
FRESH: Final = dt.timedelta(seconds=60)
BATCH: Final = 500  # lines saved in one transaction; whoever submits meanwhile waits for no more
MOST_REMEMBERED: Final = 200_000  # lines; of a longer queue each is compared with its row
MOST_ASKED: Final = 500  # ended jobs in one pass
ASK_BUDGET: Final = 3.0  # seconds

T = TypeVar("T")
log = structlog.get_logger(__name__)


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of so many at most."""
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def source_of(memory: Memory, now: dt.datetime) -> str:
    """By which source the queue as a whole is known at the moment; SINGLE when it is not."""
    at = memory.whole.at
    is_fresh = at is not None and now - at <= max(FRESH, 3 * _interval(memory.whole))
    return memory.whole.source if is_fresh else SINGLE


def start_if_due(
    endpoint: SlurmEndpoint, observer: SlurmIdentity, memory: Memory, background: Executor | None
) -> None:
    """Begin a pass when it is time and none is going on; without a background it is done here and now."""
    whole, now = memory.whole, clock.now()
    if whole.running is not None and not whole.running.done():
        return
    if whole.tried_at is not None and now - whole.tried_at < _interval(whole):
        return
    whole.tried_at = now
    if background is None:
        _try(endpoint.cluster, observer, memory)
    else:
        whole.running = background.submit(_in_thread, endpoint.cluster, observer, memory)


def _interval(whole: Whole) -> dt.timedelta:
    return max(EVERY, dt.timedelta(seconds=whole.seconds / DUTY))


def _in_thread(cluster: Cluster, observer: SlurmIdentity, memory: Memory) -> None:
    try:
        _try(cluster, observer, memory)
    except Exception:  # a bug with one queue must not be silent, nor stop the looks
        log.exception("observer.whole_failed", cluster=cluster.external_name)
    finally:
        connection.close()


def _try(cluster: Cluster, observer: SlurmIdentity, memory: Memory) -> None:
    """One pass. Its failure changes nothing: the queue as a whole only becomes older."""
    try:
        with outside.gateway_for(observer) as gateway, outside.console_for(observer) as console:
            by_lines(cluster, memory, gateway, console.queue())
    except WrongState:  # no console here
        return
    except OutsideError as error:
        log.warning(
            "observer.whole_trouble",
            cluster=cluster.external_name,
            reason=error.reason,
            error=error.message,
            extract=getattr(error, "extract", ""),
        )


def by_lines(cluster: Cluster, memory: Memory, gateway: SlurmGateway, lines: Iterable[Line]) -> None:
    """Save what changed since the last pass; what no line names any more has ended."""
    whole, began, looked_at = memory.whole, time.monotonic(), clock.now()
    is_full = whole.full_at is None or looked_at - whole.full_at >= FULL_EVERY
    known = {} if is_full else whole.known()
    seen: dict[int, int] = {}
    counts: Counter[bool] = Counter()
    for batch in batches(_changed(lines, known, seen, counts), BATCH):
        _save(cluster, whole, batch, seen, looked_at)
    _end_missing(cluster, seen, looked_at)
    _ask(cluster, whole, gateway)
    resolve_submissions(cluster, looked_at=looked_at, complete=True)
    whole.remember(seen if len(seen) <= MOST_REMEMBERED else {}, since=began)
    whole.full_at = looked_at if is_full else whole.full_at
    whole.counts, whole.source, whole.at = (counts[False], counts[True]), CONSOLE, looked_at
    whole.seconds = time.monotonic() - began
    memory.records, memory.bound = len(seen), sum(counts.values())


def _changed(
    lines: Iterable[Line], known: Mapping[int, int], seen: dict[int, int], counts: Counter[bool]
) -> Iterator[Line]:
    """The lines that are not as they were; counts the tasks that wait (True) and that are at work."""
    for line in lines:
        number, shown, state = line[:3]
        job_id = int(number) if number.isdigit() else 0
        if state not in FINISHED_STATES:
            waiting = shown.partition("_[")[2].rstrip("]")
            counts[state == "PENDING"] += count_tasks(waiting) if waiting else 1
        seen[job_id] = hash(line)
        if known.get(job_id) != seen[job_id]:
            yield line


def _save(
    cluster: Cluster, whole: Whole, batch: Sequence[Line], seen: dict[int, int], looked_at: dt.datetime
) -> None:
    lines = [parse(line) for line in batch]
    rows = Job.objects.filter(cluster=cluster, slurm_job_id__in=[line.job_id for line in lines])
    known: dict[int, tuple[dt.datetime, int | None]] = {
        number: (submitted, exit_status)
        for number, submitted, exit_status in rows.order_by("submit_time").values_list(
            "slurm_job_id", "submit_time", "exit_status"
        )
    }
    plain = []
    for line in lines:
        submitted, exit_status = known.get(line.job_id, (None, None))
        if submitted is not None and submitted != moment(line.submit_time):
            # a requeue, or the number's next job: only its whole record tells
            seen[line.job_id] = 0
            whole.to_ask.append(line.job_id)
            continue
        plain.append(record_of(line))
        if is_finished(line) and exit_status is None:
            whole.to_ask.append(line.job_id)
    save_records(cluster, plain, looked_at=looked_at, complete=False, only=QUEUE_COLUMNS)


def _end_missing(cluster: Cluster, seen: Mapping[int, int], looked_at: dt.datetime) -> None:
    active = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES, observed_at__lte=looked_at)
    missing = [key for key, number in active.values_list("pk", "slurm_job_id") if number not in seen]
    for keys in batches(missing, BATCH):
        end_rows(cluster, keys, looked_at=looked_at)


def _ask(cluster: Cluster, whole: Whole, gateway: SlurmGateway) -> None:
    """Exit codes and whatever a line does not tell; what is not reached is asked for in the next pass."""
    asked = [whole.to_ask.popleft() for _ in range(min(MOST_ASKED, len(whole.to_ask)))]
    looked_at, left = clock.now(), dict.fromkeys(asked)
    try:
        records: list[JobRecord] = []
        for number, found in singles.ask(gateway, asked, budget=ASK_BUDGET):
            left.pop(number, None)
            records += found
        save_records(cluster, records, looked_at=looked_at, complete=False)
    finally:
        whole.to_ask.extendleft(left)
