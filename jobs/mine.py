"""A person's own jobs in short, for the overview: figures and the newest rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from clusters.models import Cluster, Phase, Stack
from jobs import listing, selectors
from jobs.filters import Filter, usual_columns
from jobs.models import ACTIVE_STATES, Job
from jobs.web import tables
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.actor import Actor

ROWS = 8
RECENT = dt.timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class MyFigures:
    """Of the actor's jobs in the tenant; the last two are of those that ended within a day."""

    running: int
    pending: int
    gpus: int
    completed: int
    failed: int


def my_figures(actor: Actor) -> MyFigures:
    """In two queries, each by its index: of what is active, and of what ended lately."""
    now = clock.now()
    waits, mine = Q(state="PENDING"), Job.objects.for_actor(actor).filter(owner=actor.user)
    active = mine.filter(state__in=ACTIVE_STATES).aggregate(
        running=Count("pk", filter=~waits),
        pending=Sum("task_count", filter=waits),
        gpus=Sum("gpus", filter=~waits),
    )
    recent = mine.filter(end_time__gte=now - RECENT, end_time__lte=now).exclude(state__in=ACTIVE_STATES)
    ended = recent.aggregate(
        completed=Count("pk", filter=Q(state="COMPLETED")),
        failed=Count("pk", filter=~Q(state__in=("COMPLETED", "CANCELLED"))),
    )
    return MyFigures(**{name: value or 0 for name, value in (active | ended).items()})


def my_context(actor: Actor) -> JSONDict:
    """What the region shows: figures, the first rows of the list of jobs, and how old they are."""
    assert actor.tenant is not None  # noqa: S101  # only within a tenant
    page = listing.list_jobs(actor, Filter(), size=ROWS)
    return {
        "mine": my_figures(actor),
        # what is beyond stands in the list of jobs
        **tables.table_context(listing.Page(page.rows), Filter(), usual_columns(everyone=False), sorts=False),
        "mine_as_of": selectors.oldest_look(actor.tenant.pk),
    }


def usable_clusters(actor: Actor) -> list[Cluster]:
    """Where the actor may submit now, by name: clusters with Slurm."""
    rows = Cluster.objects.for_actor(actor).filter(
        stack=Stack.SLURM, wanted=True, terminate_at=None, phase__in=[Phase.READY, Phase.DEGRADED]
    )
    return list(rows.select_related("slurm").order_by("name"))
