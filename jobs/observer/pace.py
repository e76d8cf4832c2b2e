"""How soon to look again: quick where someone watches, slow where nothing runs, slower while it fails."""

from __future__ import annotations

import datetime as dt
import random
import uuid

import structlog
from django.core.cache import cache

from clusters.models import Cluster, SlurmEndpoint
from portal.lib import clock

log = structlog.get_logger(__name__)

JUST_ACTED = dt.timedelta(seconds=1)  # somebody submitted or cancelled here a moment ago
WATCHED = dt.timedelta(seconds=3)
BUSY = dt.timedelta(seconds=15)
IDLE = dt.timedelta(seconds=60)
LONGEST_PAUSE = dt.timedelta(minutes=5)
ACTED_FOR = 15  # seconds
WATCHED_FOR = 90  # seconds; a live region asks every 30


def interval(cluster_id: uuid.UUID, *, active: bool) -> dt.timedelta:
    """The pause after a look that went well. Without Redis nobody is known to watch."""
    acted, watched = _flag(_acted(cluster_id)), _flag(_watched(cluster_id))
    if acted:
        return JUST_ACTED
    if active:
        return WATCHED if watched else BUSY
    return BUSY if watched else IDLE


def pause(failures: int) -> dt.timedelta:
    """The growing pause after a failed look: 2, 4, 8 seconds and so on up to five minutes, with jitter."""
    seconds = min(LONGEST_PAUSE.total_seconds(), 2.0 ** min(failures, 12))
    return dt.timedelta(seconds=seconds * random.uniform(0.8, 1.2))  # noqa: S311  # no secret


def poke(cluster: Cluster) -> None:
    """Look at this cluster now: something was changed there by us."""
    SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=clock.now())
    _set(_acted(cluster.pk), ACTED_FOR)


def note_watched(cluster_ids: list[uuid.UUID]) -> None:
    """Somebody has a page of these clusters open."""
    for cluster_id in cluster_ids:
        _set(_watched(cluster_id), WATCHED_FOR)


def _acted(cluster_id: uuid.UUID) -> str:
    return f"acted:{cluster_id.hex}"


def _watched(cluster_id: uuid.UUID) -> str:
    return f"watched:{cluster_id.hex}"


def _flag(key: str) -> bool:
    try:
        return bool(cache.get(key))
    except Exception:  # noqa: BLE001  # Redis is comfort here: without it we look less often
        log.warning("observer.cache_unavailable")
        return False


def _set(key: str, seconds: int) -> None:
    try:
        cache.set(key, 1, seconds)
    except Exception:  # noqa: BLE001  # as above
        log.warning("observer.cache_unavailable")
