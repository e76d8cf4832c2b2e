"""What the observer saw of a running cluster: nodes, whether its Slurm answers, and since when not."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from contextlib import nullcontext

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Coalesce, Least

from clusters import live
from clusters.clients.slurmrest.models import NodeRecord
from clusters.models import Cluster, Node, Phase, SlurmEndpoint
from clusters.services import utilisation
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.live.topics import publish

LONGEST_TROUBLE = 300
NODES_EVERY = dt.timedelta(seconds=10)  # the observer reads nodes as often as that at most


def save_nodes(cluster: Cluster, records: Sequence[NodeRecord], *, seen_at: dt.datetime) -> bool:
    """Write a complete listing of nodes; True if anything but the time changed. Needs an open transaction."""
    known = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    new: list[Node] = []
    changed: list[Node] = []
    for record in records:
        columns = _columns(record)
        node = known.pop(record.name, None)
        if node is None:
            new.append(Node(cluster=cluster, name=record.name, observed_at=seen_at, **columns))
        elif any(getattr(node, name) != value for name, value in columns.items()):
            for name, value in columns.items():
                setattr(node, name, value)
            changed.append(node)
    Node.objects.bulk_create(new)
    Node.objects.bulk_update(changed, list(_columns(records[0]))) if changed else None
    Node.objects.filter(pk__in=[node.pk for node in known.values()]).delete()
    Node.objects.filter(cluster=cluster).update(observed_at=seen_at)
    return bool(new or changed or known)


def _columns(record: NodeRecord) -> JSONDict:
    state = "+".join([record.state, *sorted(record.flags)])
    return {
        "partitions": list(record.partitions),
        "state": state[:60],
        "available": record.is_usable,
        "reason": record.reason[:300],
        "cpus": record.cpus,
        "cpus_used": record.cpus_allocated,
        "memory_mib": record.memory,
        "gpus": record.gpus.total,
        "gpus_used": record.gpus_allocated.total,
    }


def after_change(cluster_id: uuid.UUID, *, told: str) -> None:
    """Slurm was seen ready as it is wanted now: what left it is gone, and the observer looks at the rest.

    `told`: the nodes that the driver named, "node" or "node=machine" each; "" where it names none. The look
    is put off until nodes are read again in it.
    """
    named = {part.partition("=")[0] for part in told.split(",") if part}
    nodes = Node.objects.filter(cluster=cluster_id)
    if named:
        nodes.exclude(name__in=named).delete()
    now = clock.now()
    last: dt.datetime | None = nodes.aggregate(at=Max("observed_at"))["at"]
    SlurmEndpoint.objects.filter(cluster=cluster_id).update(
        next_observe_at=now if last is None else max(now, last + NODES_EVERY)
    )


def note_seen(
    endpoint: SlurmEndpoint, *, seen_at: dt.datetime, pending: int, running: int, source: str
) -> None:
    """The cluster's Slurm answered. Publishes when that is news."""
    news = (
        endpoint.unreachable_since is not None
        or endpoint.observed_at is None
        or (endpoint.jobs_pending, endpoint.jobs_running) != (pending, running)
    )
    last = endpoint.observed_at
    is_sampled = last is not None and seen_at.replace(second=0, microsecond=0) <= last
    # mostly it is one statement, and each way to the database counts: looks are many
    with nullcontext() if is_sampled and not news else transaction.atomic():
        SlurmEndpoint.objects.filter(pk=endpoint.pk).update(
            observed_at=seen_at,
            unreachable_since=None,
            trouble="",
            failures=0,
            jobs_pending=pending,
            jobs_running=running,
            source=source,
        )
        if not is_sampled:
            utilisation.sample(endpoint.cluster_id, at=seen_at, running=running, pending=pending)
        if news:
            for topic in live.of_cluster(endpoint.cluster):
                publish(topic)


def note_trouble(endpoint: SlurmEndpoint, *, at: dt.datetime, trouble: str) -> None:
    """The cluster's Slurm gave no usable answer: what we know stays, and the engine looks at once."""
    with transaction.atomic():
        SlurmEndpoint.objects.filter(pk=endpoint.pk).update(
            unreachable_since=Coalesce(F("unreachable_since"), at),
            trouble=trouble[:LONGEST_TROUBLE],
            failures=F("failures") + 1,
        )
        if endpoint.unreachable_since is not None:
            return
        Cluster.objects.filter(
            pk=endpoint.cluster_id, wanted=True, phase__in=[Phase.READY, Phase.DEGRADED]
        ).update(next_reconcile_at=Least(F("next_reconcile_at"), at))
        for topic in live.of_cluster(endpoint.cluster):
            publish(topic)
