"""A pass over a queue that is too long to be listed, without a console: by the list of ids and states."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.listings import JobState
from clusters.clients.slurmrest.models import FINISHED_STATES
from clusters.models import Cluster
from jobs.models import ACTIVE_STATES, Job
from jobs.observer.leftovers import ask, end_unseen
from jobs.observer.resolve import resolve_submissions
from jobs.observer.sources import STATES, Memory
from portal.lib import clock

MOST_ASKED: Final = 3_000  # jobs in one pass; all that is known of them comes this way


def by_states(cluster: Cluster, memory: Memory, gateway: SlurmGateway) -> None:
    """Ask for the record of each job whose state changed; what has no state any more has ended."""
    whole, began, looked_at = memory.whole, time.monotonic(), clock.now()
    listed = gateway.states()
    seen = _fingerprints(listed)
    known = whole.known() if whole.source == STATES else {}
    rows = _states_of_rows(cluster)
    asked = set(whole.to_ask)
    for number, fingerprint in seen.items():
        # an id of one line is as its row says, or it is asked for
        if known.get(number) != fingerprint and rows.get(number) != fingerprint and number not in asked:
            whole.to_ask.append(number)
    end_unseen(cluster, seen.keys() | _tasks(cluster, listed), looked_at)
    ask(cluster, whole, gateway, most=MOST_ASKED)
    resolve_submissions(cluster, looked_at=looked_at, complete=False)
    left = set(whole.to_ask)
    whole.remember({number: one for number, one in seen.items() if number not in left}, since=began)
    counts = Counter(one.state == "PENDING" for one in listed if one.state not in FINISHED_STATES)
    whole.seconds = time.monotonic() - began
    memory.note_pass(STATES, looked_at, counts, records=len(seen))


def _fingerprints(listed: Iterable[JobState]) -> dict[int, int]:
    """By id: a hash of the states of all lines that have it."""
    found: dict[int, int] = {}
    for one in listed:
        line = hash((one.task, _main(one.state, "COMPLETING" in one.flags)))
        found[one.number] = found.get(one.number, 0) ^ line
    return found


def _main(state: str, is_completing: bool) -> str:
    return "COMPLETING" if is_completing else state


def _states_of_rows(cluster: Cluster) -> dict[int, int]:
    """The same of rows that stand for one job each, as they were saved."""
    rows = Job.objects.filter(cluster=cluster, state__in=ACTIVE_STATES, array_job_id=None)
    return {number: hash((None, state)) for number, state in rows.values_list("slurm_job_id", "state")}


def _tasks(cluster: Cluster, listed: Iterable[JobState]) -> set[int]:
    """Own ids of tasks that the list names by their array's id."""
    named = {(one.number, one.task) for one in listed if one.task is not None}
    if not named:
        return set()
    rows = Job.objects.filter(
        cluster=cluster, state__in=ACTIVE_STATES, array_job_id__in={number for number, _ in named}
    )
    found = rows.values_list("array_job_id", "array_task_id", "slurm_job_id")
    return {own for array, task, own in found if (array, task) in named}
