"""One look at one cluster: choose a source that its queue can bear, save, and settle open submits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, Sum

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import Diag, JobRecord
from clusters.models import IdentityKind, SlurmEndpoint, SlurmIdentity
from clusters.services import observation
from jobs import live, outside
from jobs.models import ACTIVE_STATES, Job, Submission, SubmissionState
from jobs.observer.partitions import save_partitions
from jobs.observer.resolve import resolve_submissions
from jobs.observer.rows import save_records
from portal.lib import clock
from tenants.live.topics import publish

MOST_LISTED = 5_000  # records; beyond, a full list costs seconds to minutes and gigabytes
MOST_SINGLE = 1_000  # jobs asked for one by one in one look
FULL_EVERY = dt.timedelta(minutes=10)
NODES_EVERY = dt.timedelta(seconds=10)
PARTITIONS_EVERY = dt.timedelta(seconds=60)
MIN_JOB_AGE = dt.timedelta(seconds=300)  # Slurm's default: so long it keeps the record of an ended job
LIST = "list"
SINGLE = "single jobs"


@dataclass(slots=True)
class Memory:
    """What the process remembers of a cluster from look to look; losing it costs one full list."""

    req_time: int | None = None  # the controller's clock before the last list
    records: int | None = None  # how long the last list was
    full_at: dt.datetime | None = None
    nodes_at: dt.datetime | None = None
    partitions_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found."""

    source: str
    active: bool


def look(endpoint: SlurmEndpoint, memory: Memory) -> Seen:
    """Look once. Raises OutsideError (temporary or permanent) when the cluster gives no usable answer."""
    started = clock.now()
    observer = SlurmIdentity.objects.get(
        cluster_id=endpoint.cluster_id, kind=IdentityKind.OBSERVER, active=True
    )
    with outside.gateway_for(observer) as gateway:
        diag = gateway.diag()
        changed, source = _look_at_jobs(endpoint, memory, gateway, diag, started)
        _look_at_nodes(endpoint, memory, gateway, started, changed=changed)
    running, pending = diag.jobs_running, diag.jobs_pending
    if source == LIST:
        running, pending = _count(endpoint)
    observation.note_seen(endpoint, seen_at=started, pending=pending, running=running, source=source)
    return Seen(source=source, active=bool(running or pending))


def _count(endpoint: SlurmEndpoint) -> tuple[int, int]:
    """(tasks at work, tasks that wait), of the rows that a complete list left."""
    waits = Q(state="PENDING")
    found = Job.objects.filter(cluster_id=endpoint.cluster_id, state__in=ACTIVE_STATES).aggregate(
        running=Sum("task_count", filter=~waits), pending=Sum("task_count", filter=waits)
    )
    return found["running"] or 0, found["pending"] or 0


def _look_at_jobs(
    endpoint: SlurmEndpoint, memory: Memory, gateway: SlurmGateway, diag: Diag, started: dt.datetime
) -> tuple[bool, str]:
    """(whether anything changed, the source)."""
    cluster = endpoint.cluster
    if not _may_list(endpoint, memory, diag, started):
        records = _single_jobs(endpoint, gateway)
        changes = save_records(cluster, records, looked_at=started, complete=False)
        resolve_submissions(cluster, looked_at=started, complete=False)
        return bool(changes.rows), SINGLE
    wait_for_proof = Submission.objects.filter(cluster=cluster, state=SubmissionState.CHECKING).exists()
    is_due = memory.full_at is None or started - memory.full_at >= FULL_EVERY
    since = None if is_due or wait_for_proof else memory.req_time
    listing = gateway.jobs(unchanged_since=since)
    if listing is None:
        resolve_submissions(cluster, looked_at=started, complete=False)
        return False, LIST
    memory.records = len(listing.jobs)
    changes = save_records(cluster, listing.jobs, looked_at=started, complete=True)
    # remembered only now: a list that could not be saved must not count as known
    memory.req_time = diag.req_time
    if since is None:
        memory.full_at = started
    resolve_submissions(cluster, looked_at=started, complete=True)
    return bool(changes.rows), LIST


def _may_list(endpoint: SlurmEndpoint, memory: Memory, diag: Diag, started: dt.datetime) -> bool:
    """Whether the queue is short enough; diag counts tasks, which are at least as many as open records."""
    ended = Job.objects.filter(
        cluster_id=endpoint.cluster_id, end_time__gte=started - MIN_JOB_AGE, end_time__lte=started
    ).exclude(state__in=ACTIVE_STATES)
    bound = diag.jobs_pending + diag.jobs_running
    if bound <= MOST_LISTED and bound + ended.count() <= MOST_LISTED:
        return True
    return memory.records is not None and memory.records <= MOST_LISTED and memory.records > 0


def _single_jobs(endpoint: SlurmEndpoint, gateway: SlurmGateway) -> list[JobRecord]:
    """The active jobs that people submitted here, the newest first; what is missing is not gone."""
    rows = Job.objects.filter(
        cluster_id=endpoint.cluster_id, state__in=ACTIVE_STATES, owner__isnull=False
    ).order_by("-submit_time")
    ids: Iterable[int] = dict.fromkeys(
        array or own for own, array in rows.values_list("slurm_job_id", "array_job_id")[:MOST_SINGLE]
    )
    return [record for job_id in ids for record in gateway.job(job_id)]


def _look_at_nodes(
    endpoint: SlurmEndpoint, memory: Memory, gateway: SlurmGateway, started: dt.datetime, *, changed: bool
) -> None:
    cluster = endpoint.cluster
    nodes = partitions = None
    if changed or memory.nodes_at is None or started - memory.nodes_at >= NODES_EVERY:
        nodes = gateway.nodes()
        memory.nodes_at = started
    if memory.partitions_at is None or started - memory.partitions_at >= PARTITIONS_EVERY:
        partitions = gateway.partitions()
        memory.partitions_at = started
    with transaction.atomic():
        if nodes is not None and observation.save_nodes(cluster, nodes, seen_at=started):
            publish(live.queue(cluster.tenant_id, cluster.pk))
        if partitions is not None:
            save_partitions(cluster, partitions, seen_at=started)
