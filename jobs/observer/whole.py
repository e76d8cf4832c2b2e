"""The queue as a whole where it is too long to be listed: when it is read, and by what."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import Executor
from typing import Final

import structlog
from django.db import connection

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import Diag
from clusters.models import Cluster, SlurmEndpoint, SlurmIdentity
from jobs import outside
from jobs.models import Submission, SubmissionState
from jobs.observer.by_lines import by_lines
from jobs.observer.by_states import by_states
from jobs.observer.sources import SINGLE, STATES, Memory, Whole
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState

EVERY: Final = dt.timedelta(seconds=8)  # with the pace of the looks, a change is seen within 15
UNREAD: Final = dt.timedelta(seconds=60)  # at most, for what Slurm does by itself and does not count
SELDOM: Final = dt.timedelta(minutes=3)  # at most, however long a pass takes
DUTY: Final = 0.2  # of the time at most, so that nothing else waits for it
DUTY_OF_STATES: Final = 0.1  # it keeps slurmrestd itself busy
FRESH: Final = dt.timedelta(seconds=60)
DEADLINE: Final = 60.0  # seconds; the states of 50,000 jobs take 18

log = structlog.get_logger(__name__)


def source_of(memory: Memory, now: dt.datetime) -> str:
    """By which source the queue as a whole is known at the moment; SINGLE when it is not."""
    known = [at for at in (memory.whole.at, memory.whole.unchanged_at) if at is not None]
    is_fresh = bool(known) and now - max(known) <= max(FRESH, 3 * _interval(memory.whole))
    return memory.whole.source if is_fresh else SINGLE


def start_if_due(
    endpoint: SlurmEndpoint,
    observer: SlurmIdentity,
    memory: Memory,
    diag: Diag,
    background: Executor | None,
) -> None:
    """Begin a pass when it is time and none is going on; without a background it is done here and now.

    Where the controller did nothing since the last one, as its `diag` says, that one still holds.
    """
    whole, now = memory.whole, clock.now()
    if whole.running is not None and not whole.running.done():
        return
    if whole.tried_at is not None and now - whole.tried_at < _interval(whole):
        return
    whole.tried_at = now
    if _still_holds(endpoint.cluster, whole, diag, now):
        whole.unchanged_at = now
    elif background is None:
        _try(endpoint.cluster, observer, memory, diag)
    else:
        whole.running = background.submit(_in_thread, endpoint.cluster, observer, memory, diag)


def _still_holds(cluster: Cluster, whole: Whole, diag: Diag, now: dt.datetime) -> bool:
    if whole.at is None or now - whole.at >= UNREAD or not diag.doings or diag.doings != whole.doings:
        return False
    # ended jobs are still to be asked for, or a submit waits for the proof that it did not arrive
    checking = Submission.objects.filter(cluster=cluster, state=SubmissionState.CHECKING)
    return not whole.to_ask and not checking.exists()


def _interval(whole: Whole) -> dt.timedelta:
    duty = DUTY_OF_STATES if whole.source == STATES else DUTY
    return min(SELDOM, max(EVERY, dt.timedelta(seconds=whole.seconds / duty)))


def _in_thread(cluster: Cluster, observer: SlurmIdentity, memory: Memory, diag: Diag) -> None:
    try:
        _try(cluster, observer, memory, diag)
    except Exception:  # a bug with one queue must not be silent, nor stop the looks
        log.exception("observer.whole_failed", cluster=cluster.external_name)
    finally:
        connection.close()


def _try(cluster: Cluster, observer: SlurmIdentity, memory: Memory, diag: Diag) -> None:
    """One pass. Its failure changes nothing: the queue as a whole only becomes older."""
    try:
        with outside.gateway_for(observer, deadline=DEADLINE) as gateway:
            _pass(cluster, observer, memory, gateway)
        memory.whole.doings = diag.doings
    except OutsideError as error:
        log.warning(
            "observer.whole_trouble",
            cluster=cluster.external_name,
            reason=error.reason,
            error=error.message,
            extract=getattr(error, "extract", ""),
        )


def _pass(cluster: Cluster, observer: SlurmIdentity, memory: Memory, gateway: SlurmGateway) -> None:
    """By the cheapest source that the cluster has."""
    try:
        with outside.console_for(observer) as console:
            by_lines(cluster, memory, gateway, console.queue())
    except (WrongState, OutsideError) as error:
        # no console here, or one that does not answer: then states alone, which is less and not nothing
        if gateway.lists_states:
            by_states(cluster, memory, gateway)
        elif isinstance(error, OutsideError):
            raise
