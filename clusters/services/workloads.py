"""Looks at Volcano's queues and jobs from a worker and keeps what was seen, with its age."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from clusters import live, outside
from clusters.kube import volcano
from clusters.models import Cluster, Phase, Stack, WorkloadSnapshot
from portal.lib import clock
from portal.lib.errors import OutsideError, WrongState
from portal.lib.types import JSONDict
from tenants.live.topics import Topic, publish

EVERY = dt.timedelta(seconds=15)
LONGEST_BACK_OFF = 300  # seconds


def due(now: dt.datetime) -> list[UUID]:
    """Clusters with Volcano that can be used and were not looked at for a while."""
    rows = Cluster.objects.filter(
        Q(workloads=None) | Q(workloads__next_look_at=None) | Q(workloads__next_look_at__lte=now),
        stack=Stack.VOLCANO,
        wanted=True,
        phase__in=[Phase.READY, Phase.DEGRADED],
    )
    return list(
        rows.order_by(F("workloads__next_look_at").asc(nulls_first=True)).values_list("pk", flat=True)
    )


def look(cluster_id: UUID | str) -> None:
    """One look at one cluster. What cannot be seen leaves what was seen before, with since when not."""
    cluster = Cluster.objects.select_related("site", "tenant").get(pk=cluster_id)
    WorkloadSnapshot.objects.get_or_create(cluster=cluster)
    started = clock.now()
    try:
        with outside.kube_for(outside.access_to(cluster)) as client:
            seen = volcano.look(client)
    except OutsideError as error:
        _in_vain(cluster, error.reason, started)
    except WrongState:
        _in_vain(cluster, "NoAccessYet", started)
    else:
        _seen(cluster, seen, started)


def topic(cluster: Cluster) -> Topic:
    """The cluster's page of queues."""
    return Topic(cluster.tenant_id, live.VOLCANO, cluster.pk)


def _seen(cluster: Cluster, seen: volcano.Workloads, at: dt.datetime) -> None:
    found: JSONDict = json.loads(json.dumps(asdict(seen), cls=DjangoJSONEncoder))
    with transaction.atomic():
        row = WorkloadSnapshot.objects.select_for_update().get(cluster=cluster)
        if row.seen_at is not None and row.seen_at > at:
            return  # another worker looked later and was done sooner
        news = row.unreachable_since is not None or row.seen_at is None
        news = news or any(getattr(row, name) != value for name, value in found.items())
        WorkloadSnapshot.objects.filter(pk=row.pk).update(
            **found, seen_at=at, unreachable_since=None, trouble="", failures=0, next_look_at=at + EVERY
        )
        if news:
            publish(topic(cluster))


def _in_vain(cluster: Cluster, reason: str, at: dt.datetime) -> None:
    with transaction.atomic():
        row = WorkloadSnapshot.objects.select_for_update().get(cluster=cluster)
        wait = min(LONGEST_BACK_OFF, EVERY.total_seconds() * 2 ** min(row.failures, 5))
        WorkloadSnapshot.objects.filter(pk=row.pk).update(
            unreachable_since=Coalesce(F("unreachable_since"), at),
            trouble=reason[:60],
            failures=F("failures") + 1,
            next_look_at=at + dt.timedelta(seconds=wait),
        )
        if row.unreachable_since is None:
            publish(topic(cluster))
