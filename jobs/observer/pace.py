"""How soon to look again: quick where someone watches, slow where nothing runs, slower while it fails."""

from __future__ import annotations

import datetime as dt
import random
import time
import uuid

import structlog
from django.core.cache import cache

from clusters.models import Cluster, SlurmEndpoint
from portal.lib import clock

log = structlog.get_logger(__name__)

SOON = dt.timedelta(seconds=0.3)  # after somebody acts where nobody did for a while
JUST_ACTED = dt.timedelta(seconds=1)  # somebody submitted or cancelled here a moment ago
WATCHED = dt.timedelta(seconds=3)
BUSY = dt.timedelta(seconds=15)
IDLE = dt.timedelta(seconds=60)
REST = 4  # times what a look took, but watched jobs do not wait for it
LONGEST_REST = dt.timedelta(seconds=10)
AFTER_A_BUG = dt.timedelta(minutes=5)
ACTED_FOR = 15  # seconds
ACTED_AGAIN = 3.0  # seconds
MOST_ACTED = 1000  # clusters
WATCHED_FOR = 90  # seconds; a live region asks every 30
MOST_WATCHED = 500  # jobs of one cluster
_acted_said: dict[uuid.UUID, float] = {}  # by this process


def interval(cluster_id: uuid.UUID, *, active: bool) -> dt.timedelta:
    """The pause after a look that went well. Without Redis nobody is known to watch."""
    acted, watched = _flag(_acted(cluster_id)), _flag(_watched(cluster_id))
    if acted:
        return JUST_ACTED if watched else WATCHED
    if active:
        return WATCHED if watched else BUSY
    return BUSY if watched else IDLE


def pause(failures: int, *, longest: dt.timedelta) -> dt.timedelta:
    """The growing pause after a failed look: 2, 4, 8 seconds and so on, with jitter.

    It is never longer than that after a good look: who comes back is seen within one, and before Slurm
    forgets how jobs ended.
    """
    seconds = min(longest.total_seconds(), 2.0 ** min(failures, 12))
    return dt.timedelta(seconds=seconds * random.uniform(0.8, 1.0))  # noqa: S311  # no secret


def rest(taken: dt.timedelta) -> dt.timedelta:
    """The least pause after a look that took so long, whoever asks: also of Slurm's time some is left."""
    return min(LONGEST_REST, max(taken, min(REST * taken, WATCHED - taken)))


def poke(cluster: Cluster, *, due: dt.datetime | None = None) -> None:
    """Look at this cluster soon: something was changed there by us. `due`: the next look, where it is known.

    Of acts that follow each other only the first one hurries: a look for each would be one after the other.
    """
    now = clock.now()
    near, at = (SOON, SOON) if _note_acted(cluster.pk) else (LONGEST_REST, JUST_ACTED)
    if due is None or due > now + near:
        # a look that is due by then has not begun yet, and will see it
        rows = SlurmEndpoint.objects.filter(cluster=cluster).exclude(next_observe_at__lte=now + near)
        rows.update(next_observe_at=now + at)


def _note_acted(cluster_id: uuid.UUID) -> bool:
    """Something was changed there by us a moment ago; whether it is the first act for a while.

    It is said again only every few seconds.
    """
    now = time.monotonic()
    if now - _acted_said.get(cluster_id, -ACTED_AGAIN) < ACTED_AGAIN:
        return False
    if len(_acted_said) > MOST_ACTED:
        _acted_said.clear()
    _acted_said[cluster_id] = now
    is_first = not _flag(_acted(cluster_id))
    _set(_acted(cluster_id), ACTED_FOR)
    return is_first


def note_watched(cluster_ids: list[uuid.UUID]) -> None:
    """Somebody has a page of these clusters open."""
    for cluster_id in cluster_ids:
        _set(_watched(cluster_id), WATCHED_FOR)


def note_watched_job(cluster_id: uuid.UUID, slurm_job_id: int) -> None:
    """Somebody has the page of this very job open."""
    now = clock.now().timestamp()
    known = _jobs_in(cluster_id)
    if known.get(slurm_job_id, 0) > now + WATCHED_FOR / 2:
        return
    # two at once may lose one of them: it is noted again with its next fragment
    live = {job: until for job, until in known.items() if until > now}
    live[slurm_job_id] = now + WATCHED_FOR
    latest = sorted(live.items(), key=lambda item: item[1])[-MOST_WATCHED:]
    _set(_watched_jobs(cluster_id), WATCHED_FOR, dict(latest))


def watched_jobs(cluster_id: uuid.UUID) -> list[int]:
    """Slurm's ids of the jobs whose pages are open."""
    now = clock.now().timestamp()
    return [job for job, until in _jobs_in(cluster_id).items() if until > now]


def _jobs_in(cluster_id: uuid.UUID) -> dict[int, float]:
    found = _get(_watched_jobs(cluster_id))
    return found if isinstance(found, dict) else {}


def _acted(cluster_id: uuid.UUID) -> str:
    return f"acted:{cluster_id.hex}"


def _watched(cluster_id: uuid.UUID) -> str:
    return f"watched:{cluster_id.hex}"


def _watched_jobs(cluster_id: uuid.UUID) -> str:
    return f"watched-jobs:{cluster_id.hex}"


def _flag(key: str) -> bool:
    return bool(_get(key))


def _get(key: str) -> object:
    try:
        return cache.get(key)
    except Exception:  # noqa: BLE001  # Redis is comfort here: without it we look less often
        log.warning("observer.cache_unavailable")
        return None


def _set(key: str, seconds: int, value: object = 1) -> None:
    try:
        cache.set(key, value, seconds)
    except Exception:  # noqa: BLE001  # as above
        log.warning("observer.cache_unavailable")
