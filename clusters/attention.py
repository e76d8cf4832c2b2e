"""What in a tenant needs a person's attention: what stalls, what is silent, what ends."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import words
from clusters.models import Order, OrderState, Phase
from portal.lib import clock
from tenants.actor import Actor

REMEMBERED = dt.timedelta(days=7)  # so long a refusal is pointed at


@dataclass(frozen=True, slots=True)
class Point:
    """One thing, since when, and the page where something can be done: name and key of its address."""

    tone: str
    subject: str
    text: str
    page: str
    key: UUID
    since: dt.datetime | None = None
    action: str = ""  # "": look


def attention(clusters: Iterable[Any], refused: Iterable[Order]) -> list[Point]:
    """Of clusters as `selectors.live_clusters` gives them and of refused orders; the worst first."""
    found = [point for cluster in clusters for point in _of_cluster(cluster)]
    found += [
        Point(
            "amber",
            _("Order of %(cluster)s") % {"cluster": order.cluster_name},
            _("An operator rejected it and says why."),
            "order",
            order.pk,
            order.decided_at,
            _("Read"),
        )
        for order in refused
    ]
    return sorted(found, key=lambda point: ("red", "amber", "blue").index(point.tone))


def refused_orders(actor: Actor) -> list[Order]:
    """Orders of the tenant that an operator rejected lately."""
    rows = Order.objects.for_actor(actor).filter(
        state=OrderState.REJECTED, decided_at__gt=clock.now() - REMEMBERED
    )
    return list(rows.order_by("-decided_at")[:5])


def _of_cluster(cluster: Any) -> Iterator[Point]:
    slurm = getattr(cluster, "slurm", None)
    if cluster.phase == Phase.FAILED:
        yield Point(
            "red",
            cluster.name,
            _("The build was given up. It is not charged; an owner can remove what was built."),
            "cluster",
            cluster.pk,
        )
        return
    waiting = words.waiting_of_steps(cluster.steps.all())
    if waiting is not None and waiting.needs_a_person:
        yield Point("amber", cluster.name, waiting.what, "cluster-steps", cluster.pk, waiting.since)
    if cluster.paused:
        text = _("Paused by an operator; running jobs go on.")
        yield Point("amber", cluster.name, text, "cluster", cluster.pk)
    if slurm is not None and slurm.unreachable_since is not None and cluster.was_ready:
        text = _("Slurm does not answer. Jobs go on; what is shown is the last known state.")
        yield Point("amber", cluster.name, text, "cluster", cluster.pk, slurm.unreachable_since)
    leaving = max(0, cluster.nodes_seen - cluster.nodes_wanted)  # those take no jobs, as they should
    down = cluster.nodes_down - leaving
    if cluster.phase in {Phase.READY, Phase.DEGRADED} and down > 0:
        text = ngettext(
            "%(down)d of %(seen)d nodes is down or drained.",
            "%(down)d of %(seen)d nodes are down or drained.",
            down,
        ) % {"down": down, "seen": cluster.nodes_seen}
        yield Point("amber", cluster.name, text, "cluster-nodes", cluster.pk)
    if cluster.terminate_at is not None and cluster.wanted:
        text = _("It is to be removed; until then that can be called off.")
        yield Point("blue", cluster.name, text, "cluster", cluster.pk, cluster.terminate_at)
