"""Begins a resize: from its lines, and the machines of its plan, to the pools that are wanted now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from clusters.models import OPEN_STATES, Cluster, Machine, Order, OrderKind, Phase
from clusters.services import desired, shrinking
from clusters.services.desired import WantedPool
from clusters.words import in_a_sentence, is_phase
from portal.lib.errors import WrongState


def require_changeable(cluster: Cluster, *, but: Order | None = None) -> None:
    """Raise WrongState unless a change could begin now: ready, to stay, and none under way."""
    if not cluster.wanted or cluster.phase in {Phase.DELETING, Phase.DELETED, Phase.FAILED}:
        raise WrongState(is_phase(cluster))
    if other := open_order(cluster, but=but):
        since = f"{other.created_at:%Y-%m-%d %H:%M} UTC"
        raise WrongState(
            _(
                "One change at a time: %(cluster)s has an open order,"
                " %(kind)s of %(since)s (%(id)s), %(state)s."
            )
            % {
                "cluster": cluster.name,
                "kind": in_a_sentence(other.get_kind_display()),
                "since": since,
                "id": str(other.pk)[:8],
                "state": in_a_sentence(other.get_state_display()),
            },
            hint=_("Wait until it is done, or cancel it first."),
        )
    if not cluster.was_ready:
        raise WrongState(_("%(cluster)s was never ready yet.") % {"cluster": cluster.name})
    if not desired.is_settled(cluster):
        raise WrongState(
            _("%(cluster)s still gives machines back from the change before.") % {"cluster": cluster.name},
            hint=_("Its steps tab shows how far it is. Try again when that is done."),
        )


def open_order(cluster: Cluster, *, but: Order | None = None) -> Order | None:
    """The order that is under way for the cluster, if any."""
    rows = Order.objects.filter(cluster=cluster, state__in=OPEN_STATES)
    if but is not None:
        rows = rows.exclude(pk=but.pk)
    found: Order | None = rows.order_by("-created_at").first()
    return found


def open_change(cluster: Cluster) -> Order | None:
    """The resize that is under way for the cluster, if any."""
    found: Order | None = Order.objects.filter(
        cluster=cluster, kind=OrderKind.RESIZE, state__in=OPEN_STATES
    ).first()
    return found


def begin(order: Order, cluster: Cluster, taken: Mapping[str, Sequence[Machine]]) -> list[Machine]:
    """Want what the order asks for. Returns the machines that leave: chosen now, idle ones first.

    Needs an open transaction, the cluster locked, and the taken machines locked.
    """
    leaving: list[Machine] = []
    pools: list[WantedPool] = []
    held = shrinking.candidates(cluster)
    for line in order.lines.order_by("pool"):
        mine = [candidate.machine for candidate in held.get(line.pool, [])]
        leaving += mine[: line.fewer]
        if line.count:
            machines = [*mine[line.fewer :], *taken.get(line.pool, ())]
            keys = tuple(sorted(machine.pk for machine in machines))
            pools.append(WantedPool(line.pool, line.flavor_id, line.count, line.price_per_hour, keys))
    desired.change(cluster, order, pools)
    return leaving
