"""Reads for the pages: lists in pages by keyset, so that page 100 costs what page 1 does."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Max, Min, Q

from clusters.models import Cluster, Node, SlurmEndpoint
from jobs.models import ACTIVE_STATES, Job, JobState, Submission
from portal.lib.keyset import ROWS
from tenants.actor import Actor
from tenants.scoping import TenantQuerySet

LONGEST_TEXT = 255
SHORT = 3  # characters; the index of names (migration 0005) finds no shorter text
NAMED_AMONG = 20_000  # jobs; a shorter text is looked for in the names of so many, the newest
_AT_WORK = ("RUNNING", "COMPLETING", "SUSPENDED")
_WAITING = ("PENDING",)
_ENDED = tuple(state.value for state in JobState if state.value not in ACTIVE_STATES)
# what comes first in a list: at work, then waiting, then the rest
SEGMENTS: tuple[tuple[str, ...], ...] = (_AT_WORK, _WAITING, _ENDED)
STATES: Mapping[str, tuple[str, ...]] = {
    "running": _AT_WORK,
    "pending": _WAITING,
    "completed": ("COMPLETED",),
    "failed": tuple(sorted(set(_ENDED) - {"COMPLETED", "CANCELLED", "ENDED"})),
    "cancelled": ("CANCELLED",),
    "ended": _ENDED,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """What the address asks for; everything else in it is ignored."""

    everyone: bool = False
    state: str = ""
    text: str = ""
    cluster: uuid.UUID | None = None

    @property
    def is_default(self) -> bool:
        """Whether the list is the one that is shown live."""
        return not (self.state or self.text or self.cluster)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows and where the next ones begin; "" at the end."""

    rows: list[Job] = field(default_factory=list)
    after: str = ""


def read_filter(query: Mapping[str, str]) -> Filter:
    """From the address; values that mean nothing count as absent."""
    state = query.get("state", "")
    try:
        cluster = uuid.UUID(query.get("cluster", ""))
    except ValueError:
        cluster = None
    return Filter(
        everyone=query.get("who") == "everyone",
        state=state if state in STATES else "",
        text=query.get("text", "").replace("\0", "").strip()[:LONGEST_TEXT],
        cluster=cluster,
    )


def list_jobs(actor: Actor, wanted: Filter, *, after: str = "", size: int = ROWS) -> Page:
    """Jobs of the actor's tenant, as filtered, at work first, then waiting, then the latest that ended."""
    rows = Job.objects.for_actor(actor).select_related("cluster", "owner")
    if not wanted.everyone:
        rows = rows.filter(owner=actor.user)
    if wanted.cluster is not None:
        rows = rows.filter(cluster_id=wanted.cluster)
    if wanted.text:
        rows = rows.filter(_named(wanted.text))
    states = STATES.get(wanted.state)
    return _page(
        rows, [tuple(s for s in part if states is None or s in states) for part in SEGMENTS], after, size
    )


def find_jobs(actor: Actor, text: str, *, most: int) -> list[Job]:
    """Jobs of the tenant by id (12, 12_3), or by a part of their name; the newest first."""
    rows = Job.objects.for_actor(actor).select_related("cluster", "owner")
    number, _, task = text.partition("_")
    if _is_number(number) and (not task or _is_number(task)):
        wanted = Q(slurm_job_id=int(number)) | Q(array_job_id=int(number))
        if task:
            wanted = Q(array_job_id=int(number), array_task_id=int(task))
        clusters = list(
            Cluster.objects.for_actor(actor).values_list("pk", flat=True)
        )  # for the indexes of ids
        if found := list(rows.filter(wanted, cluster__in=clusters).order_by("-submit_time", "-id")[:most]):
            return found
    named = rows.filter(name__icontains=text).order_by("-submit_time", "-id")
    if len(text) < SHORT:
        newest = Job.objects.for_actor(actor).order_by("-submit_time", "-id")
        edge = newest.values_list("submit_time", flat=True)[NAMED_AMONG : NAMED_AMONG + 1].first()
        named = named if edge is None else named.filter(submit_time__gt=edge)
    return list(named[:most])


def list_queue(actor: Actor, cluster: Cluster, *, after: str = "", size: int = ROWS) -> Page:
    """What has not ended in a cluster."""
    rows = Job.objects.for_actor(actor).filter(cluster=cluster).select_related("cluster", "owner")
    return _page(rows, [_AT_WORK, _WAITING, ()], after, size)


def _named(text: str) -> Q:
    """Name contains, or a Slurm id."""
    named = Q(name__icontains=text)
    if _is_number(text):
        named |= Q(slurm_job_id=int(text)) | Q(array_job_id=int(text))
    return named


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _page(rows: TenantQuerySet[Job], segments: list[tuple[str, ...]], after: str, size: int) -> Page:
    start, edge = _read_cursor(after)
    found: list[tuple[int, Job]] = []
    for number in range(start, len(segments)):
        if not segments[number] or len(found) > size:
            continue
        part = rows.filter(state__in=segments[number])
        if number == start and edge is not None:
            at, key = edge
            part = part.filter(Q(submit_time__lt=at) | Q(submit_time=at, id__lt=key))
        ordered = part.order_by("-submit_time", "-id")[: size + 1 - len(found)]
        found += [(number, row) for row in ordered]
    shown = found[:size]
    more = len(found) > size and shown
    return Page([row for _, row in shown], _write_cursor(*shown[-1]) if more else "")


def _write_cursor(segment: int, row: Job) -> str:
    return f"{segment}~{row.submit_time.isoformat()}~{row.pk.hex}"


def _read_cursor(text: str) -> tuple[int, tuple[dt.datetime, uuid.UUID] | None]:
    """Where to go on; the beginning for anything that is no cursor."""
    try:
        segment, at, key = text.split("~")
        moment = dt.datetime.fromisoformat(at)
        if moment.tzinfo is None:
            return 0, None
        return min(max(int(segment), 0), len(SEGMENTS) - 1), (moment, uuid.UUID(key))
    except ValueError:
        return 0, None


def endpoint_of(cluster_id: uuid.UUID) -> SlurmEndpoint | None:
    """How the cluster's Slurm answers; for a cluster that was found through the door."""
    return SlurmEndpoint.objects.filter(cluster_id=cluster_id).first()


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """How full a cluster is, as last seen. Down and drained nodes offer nothing."""

    running: int
    pending: int
    nodes_up: int
    nodes_all: int
    gpus_used: int
    gpus_all: int


def queue_figures(cluster: Cluster, endpoint: SlurmEndpoint | None) -> QueueFigures:
    """For a cluster that was found through the door; the counts are the observer's."""
    nodes = list(Node.objects.filter(cluster=cluster))
    up = [node for node in nodes if node.available]
    return QueueFigures(
        running=endpoint.jobs_running if endpoint else 0,
        pending=endpoint.jobs_pending if endpoint else 0,
        nodes_up=len(up),
        nodes_all=len(nodes),
        gpus_used=sum(min(node.gpus_used, node.gpus) for node in up),
        gpus_all=sum(node.gpus for node in up),
    )


def oldest_look(actor_tenant_id: uuid.UUID) -> dt.datetime | None:
    """When the cluster that was looked at longest ago was looked at, or since when one does not answer.

    None when none was looked at.
    """
    endpoints = SlurmEndpoint.objects.filter(
        cluster__tenant_id=actor_tenant_id, cluster__wanted=True, cluster__ready_at__isnull=False
    )
    found = endpoints.aggregate(seen=Min("observed_at"), silent=Max("unreachable_since"))
    oldest: dt.datetime | None = found["silent"] or found["seen"]
    return oldest


def silent_clusters(actor: Actor) -> list[Cluster]:
    """Clusters of the tenant that do not answer, with their endpoint."""
    return list(
        Cluster.objects.for_actor(actor)
        .filter(wanted=True, slurm__unreachable_since__isnull=False, ready_at__isnull=False)
        .select_related("slurm")
        .order_by("name")
    )


def submission_of(job: Job) -> Submission | None:
    """The submit from which the job came. A mark alone proves nothing: the account must agree too."""
    if not job.mark or job.identity_id is None:
        return None
    rows = Submission.objects.filter(cluster_id=job.cluster_id, mark=job.mark, identity_id=job.identity_id)
    return rows.select_related("user").first()


def open_submissions(actor: Actor) -> list[Submission]:
    """Own submits of which it is not known whether they arrived, or that did not."""
    rows = Submission.objects.for_actor(actor).filter(
        user=actor.user, state__in=("sending", "checking", "absent")
    )
    return list(rows.select_related("cluster").order_by("-created_at")[:10])
