"""A pass over a queue that is too long to be listed: by the console's lines, in constant memory."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from clusters.clients.slurm_console.lines import Line, parse
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import FINISHED_STATES
from clusters.models import Cluster
from jobs.models import Job
from jobs.observer.columns import moment
from jobs.observer.leftovers import ask, batches, end_unseen
from jobs.observer.queue_lines import is_finished, record_of
from jobs.observer.resolve import resolve_submissions
from jobs.observer.rows import QUEUE_COLUMNS, save_records
from jobs.observer.sources import CONSOLE, FULL_EVERY, Memory, Whole
from jobs.parsing.array import count_tasks
from portal.lib import clock

MOST_ASKED: Final = 500  # ended jobs in one pass


def by_lines(cluster: Cluster, memory: Memory, gateway: SlurmGateway, lines: Iterable[Line]) -> None:
    """Save what changed since the last pass; what no line names any more has ended."""
    whole, began, looked_at = memory.whole, time.monotonic(), clock.now()
    is_full = whole.full_at is None or looked_at - whole.full_at >= FULL_EVERY
    known = {} if is_full else whole.known()
    seen: dict[int, int] = {}
    counts: Counter[bool] = Counter()
    for batch in batches(_changed(lines, known, seen, counts)):
        _save(cluster, whole, batch, seen, looked_at)
    end_unseen(cluster, seen, looked_at)
    ask(cluster, whole, gateway, most=MOST_ASKED)
    resolve_submissions(cluster, looked_at=looked_at, complete=True, answers_since=memory.answers_since)
    whole.remember(seen, since=began)
    whole.full_at = looked_at if is_full else whole.full_at
    # the pace is that of passes in which little is new; the first one may take a minute
    whole.seconds = 0.0 if is_full else time.monotonic() - began
    memory.note_pass(CONSOLE, looked_at, counts, records=len(seen))


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
    changes = save_records(cluster, plain, looked_at=looked_at, only=QUEUE_COLUMNS)
    seen.update(dict.fromkeys(changes.later, 0))  # what was seen later may be what the next line says
