"""Looks at every cluster when it is due; several observers share the work by leases."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import structlog
from django.db import close_old_connections, connection, transaction
from django.db.models import Case, Q, When
from django.db.models.functions import Greatest

from clusters.clients.slurmrest import errors, tokens, versions
from clusters.models import IdentityKind, Phase, SlurmEndpoint, SlurmIdentity
from clusters.services import observation, slurm_access
from jobs import live
from jobs.models import Job
from jobs.observer import pace
from jobs.observer.look import look
from jobs.observer.resolve import give_up_on_removed_clusters
from jobs.observer.rows import end_jobs_of_removed_clusters
from jobs.observer.sources import Memory
from jobs.outside import DEADLINE
from portal.lib import clock, crypto
from portal.lib.errors import OutsideError
from tenants.live.topics import publish
from tenants.scoping import TenantQuerySet

log = structlog.get_logger(__name__)

LEASE = dt.timedelta(seconds=120)  # longer than any look: a few calls of ten seconds
SWEEP_EVERY = dt.timedelta(seconds=15)
TICK = 0.25  # seconds
THREADS = 9  # each holds a database connection while it looks, and all share a pool of twelve
MOST_SILENT = 2 / 3  # of the threads that wait for clusters which gave no answer last time
BACKGROUND = 2  # long queues read at a time, beside the looks


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to look at one cluster for a while; `guard` shows whether somebody asked meanwhile."""

    endpoint_id: int
    guard: dt.datetime


class Observer:
    """One process of it. `step` claims what is due and hands it to threads; `run` steps until stopped."""

    def __init__(self, *, threads: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="look")
        self._background = ThreadPoolExecutor(BACKGROUND, thread_name_prefix="whole")
        self._threads = threads
        self._memories: dict[uuid.UUID, Memory] = {}
        self._busy: dict[int, Future[None]] = {}
        self._silent: set[int] = set()  # of these the clusters that gave no answer last time
        self._swept_at: dt.datetime | None = None
        self._pause = TICK  # until the next step: at most until the next look

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set. A database that is away for a while is waited for."""
        while not stop.is_set():
            try:
                self.step()
            except Exception:  # the loop must outlive a restart of the database
                log.exception("observer.step_failed")
                connection.close()
                stop.wait(2)
            stop.wait(self._pause)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._background.shutdown(wait=True, cancel_futures=True)

    def step(self) -> int:
        """Start a look at each cluster that is due; returns how many were started.

        However many are silent, threads are left for those that answer.
        """
        self._sweep()
        self._busy = {key: future for key, future in self._busy.items() if not future.done()}
        self._silent &= self._busy.keys()
        started = 0
        for endpoint_id, failures in self._due():
            if len(self._busy) >= self._threads:
                break
            if failures and len(self._silent) >= max(1, int(self._threads * MOST_SILENT)):
                continue
            claimed = claim(endpoint_id)
            if claimed is not None:
                self._busy[endpoint_id] = self._pool.submit(self._look, claimed)
                self._silent |= {endpoint_id} if failures else set()
                started += 1
        return started

    def wait(self) -> None:
        """Until the looks that were started have ended; for tests."""
        for future in list(self._busy.values()):
            future.result(timeout=60)

    def _sweep(self) -> None:
        now = clock.now()
        if self._swept_at is None or now - self._swept_at >= SWEEP_EVERY:
            end_jobs_of_removed_clusters(now)
            give_up_on_removed_clusters()
            self._swept_at = now

    def _due(self) -> list[tuple[int, int]]:
        """(key, how often it failed since it answered)."""
        now = clock.now()
        soon = due(now + dt.timedelta(seconds=TICK)).exclude(pk__in=list(self._busy))
        rows = list(soon.values_list("pk", "failures", "next_observe_at"))
        waits = [(at - now).total_seconds() for _, _, at in rows if at is not None and at > now]
        self._pause = min([TICK, *waits])
        return [(key, failures) for key, failures, at in rows if at is None or at <= now]

    def _look(self, claimed: Claim) -> None:
        close_old_connections()
        try:
            observe(claimed, self._memories, self._background)
        except Exception:  # a bug with one cluster must not stop the others
            log.exception("observer.look_failed", endpoint=claimed.endpoint_id)
            release(claimed, pace.AFTER_A_BUG)
        finally:
            connection.close()


def due(now: dt.datetime) -> TenantQuerySet[SlurmEndpoint]:
    """Endpoints of clusters that were ready once, whose time has come and at which nobody looks."""
    return (
        SlurmEndpoint.objects.filter(
            Q(next_observe_at=None) | Q(next_observe_at__lte=now),
            Q(lease_until=None) | Q(lease_until__lte=now),
            cluster__ready_at__isnull=False,
            cluster__wanted=True,
            cluster__phase__in=[Phase.READY, Phase.DEGRADED, Phase.PROVISIONING],
        )
        .exclude(url="")
        .order_by("next_observe_at")
    )


def claim(endpoint_id: int) -> Claim | None:
    """Take the lease by compare-and-swap; None if another observer was quicker."""
    now = clock.now()
    guard = now + LEASE
    taken = due(now).filter(pk=endpoint_id).update(lease_until=guard, next_observe_at=guard)
    return Claim(endpoint_id, guard) if taken else None


def release(claimed: Claim, after: dt.timedelta, *, rest: dt.timedelta = dt.timedelta(0)) -> None:
    """Give the lease back. Who asked meanwhile moved `next_observe_at`: that look comes after the rest."""
    now = clock.now()
    is_guarded = When(next_observe_at=claimed.guard, then=now + after)
    SlurmEndpoint.objects.filter(pk=claimed.endpoint_id, lease_until=claimed.guard).update(
        lease_until=None, next_observe_at=Case(is_guarded, default=Greatest("next_observe_at", now + rest))
    )


def observe(claimed: Claim, memories: dict[uuid.UUID, Memory], background: Executor | None = None) -> None:
    """One look under a lease, with what follows from its failure."""
    endpoint = slurm_access.endpoints().get(pk=claimed.endpoint_id)
    memory = memories.setdefault(endpoint.cluster_id, Memory())
    began = clock.now()
    try:
        seen = look(endpoint, memory, background)
    except OutsideError as error:
        memory.forget_list()
        log.warning(
            "observer.trouble",
            cluster=endpoint.cluster.external_name,
            reason=error.reason,
            error=error.message,
            extract=getattr(error, "extract", ""),
        )
        observation.note_trouble(endpoint, at=clock.now(), trouble=error.message)
        if endpoint.unreachable_since is None:
            tell_pages(endpoint)
        if isinstance(error, errors.VersionGone):
            rediscover(endpoint)
        was_active = bool(endpoint.jobs_pending or endpoint.jobs_running)
        usual = pace.interval(endpoint.cluster_id, active=was_active)
        release(claimed, pace.pause(endpoint.failures + 1, longest=usual))
        return
    if endpoint.unreachable_since is not None:
        tell_pages(endpoint)
    taken = max(dt.timedelta(0), clock.now() - began)
    rest, usual = pace.rest(taken), pace.interval(endpoint.cluster_id, active=seen.active)
    release(claimed, max(rest, usual - taken), rest=rest)  # the usual pause is from begin to begin


def tell_pages(endpoint: SlurmEndpoint) -> None:
    """Whether the cluster answers is news on the pages of its queue and of jobs that somebody has open."""
    cluster = endpoint.cluster
    watched = Job.objects.filter(cluster=cluster, slurm_job_id__in=pace.watched_jobs(cluster.pk))
    with transaction.atomic():
        for topic in {live.queue(cluster.tenant_id, cluster.pk), *live.of_jobs(watched)}:
            publish(topic)


def rediscover(endpoint: SlurmEndpoint) -> None:
    """Ask which API versions are left after an upgrade, and remember the best."""
    observer = SlurmIdentity.objects.get(
        cluster_id=endpoint.cluster_id, kind=IdentityKind.OBSERVER, active=True
    )
    key = crypto.unseal(bytes(endpoint.sealed_jwt_key))
    try:
        with closing(slurm_access.session_for(endpoint, timeout=DEADLINE)) as session:
            found = versions.discover(
                endpoint.url, observer.name, lambda: tokens.mint(observer.name, key), session=session
            )
    except OutsideError as error:
        observation.note_trouble(endpoint, at=clock.now(), trouble=error.message)
        return
    SlurmEndpoint.objects.filter(pk=endpoint.pk).update(api_version=found.api, release=found.release[:20])
    log.info("observer.version", cluster=endpoint.cluster.external_name, version=found.api)
