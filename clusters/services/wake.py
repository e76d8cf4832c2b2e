"""Asks for a look at a cluster soon; the only way in which the desired columns of a cluster change."""

from __future__ import annotations

from django.db.models import F

from clusters import hints, live
from clusters.models import Cluster, StepState, StepStatus
from portal.lib import clock
from tenants.live.topics import publish


def wake(cluster: Cluster, **columns: object) -> None:
    """Write desired columns, forget why steps stalled (someone acted), and have a worker look on commit.

    Needs an open transaction. The engine compares `wake` when a pass ends, so a change during a pass
    is not slept over.
    """
    now = clock.now()
    Cluster.objects.filter(pk=cluster.pk).update(
        wake=F("wake") + 1, next_reconcile_at=now, attempts=0, quiet_passes=0, **columns
    )
    StepState.objects.filter(cluster=cluster, status=StepStatus.STALLED).update(
        status=StepStatus.PROGRESSING, hint="", attempts=0, since=now, deadline_at=None
    )
    cluster.refresh_from_db()
    for topic in live.of_cluster(cluster):
        publish(topic)
    hints.reconcile_soon(cluster)
