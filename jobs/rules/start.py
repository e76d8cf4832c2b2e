"""When jobs that wait are to start, as the cluster's own backfill estimates; nothing is guessed here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Min, Q

from clusters.models import Cluster
from jobs.listing import texts_with
from jobs.models import Job, JobState
from jobs.services.capacity import ClusterView
from portal.lib import clock
from tenants.actor import Actor


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of the jobs that wait in a partition now."""

    partition: str
    waiting: int  # lines: an array counts once
    estimated: int  # those for which there is an estimate
    earliest: dt.datetime | None
    latest: dt.datetime | None
    observed_at: dt.datetime | None


def outlook_of(actor: Actor, cluster: Cluster, view: ClusterView, partitions: Sequence[str]) -> list[Outlook]:
    """For each of the partitions of a request, or for the default one."""
    names = list(partitions) or ([view.default.name] if view.default else [])
    return [_of(actor, cluster, view, name) for name in names]


def _of(actor: Actor, cluster: Cluster, view: ClusterView, name: str) -> Outlook:
    rows = Job.objects.for_actor(actor).filter(cluster=cluster, state=JobState.PENDING, is_line=True)
    rows = rows.filter(partition__in=texts_with(actor, name))
    future = Q(start_time__gt=clock.now())
    found = rows.aggregate(
        waiting=Count("pk"),
        estimated=Count("pk", filter=future),
        earliest=Min("start_time", filter=future),
        latest=Max("start_time", filter=future),
    )
    return Outlook(partition=name, observed_at=view.observed_at, **found)
