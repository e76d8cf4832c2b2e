"""Reads for the pages of jobs and queues; the lists themselves stand in jobs.listing."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass

from django.db.models import Max, Min, Q

from clusters.models import Cluster, Node, SlurmEndpoint
from jobs.listing import is_number
from jobs.models import Job, Submission
from tenants.actor import Actor

SHORT = 3  # characters; the index of names (migration 0005) finds no shorter text
NAMED_AMONG = 20_000  # jobs; a shorter text is looked for in the names of so many, the newest


def find_jobs(actor: Actor, text: str, *, most: int) -> list[Job]:
    """Jobs of the tenant by id (12, 12_3), or by a part of their name; the newest first."""
    rows = Job.objects.for_actor(actor).select_related("cluster", "owner")
    number, _, task = text.partition("_")
    if is_number(number) and (not task or is_number(task)):
        wanted = Q(slurm_job_id=int(number)) | Q(array_job_id=int(number))
        if task:
            wanted = Q(array_job_id=int(number), array_task_id=int(task))
        clusters = list(
            Cluster.objects.for_actor(actor).values_list("pk", flat=True)
        )  # for the indexes of ids
        if found := list(rows.filter(wanted, cluster__in=clusters).order_by("-submit_time", "-id")[:most]):
            return found
    named = rows.filter(is_line=True, name__icontains=text).order_by("-submit_time", "-id")
    if len(text) < SHORT:
        newest = Job.objects.for_actor(actor).order_by("-submit_time", "-id")
        edge = newest.values_list("submit_time", flat=True)[NAMED_AMONG : NAMED_AMONG + 1].first()
        named = named if edge is None else named.filter(submit_time__gt=edge)
    return list(named[:most])


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
