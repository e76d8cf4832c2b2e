"""What follows from a pass: the cluster's phase, its Slurm endpoint, fulfilled orders, freed machines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from django.db.models import QuerySet

from clusters import live
from clusters.models import (
    Allocation,
    Cluster,
    ClusterSecret,
    Machine,
    MachineState,
    Order,
    OrderKind,
    OrderState,
    Phase,
    PortBlock,
    SlurmEndpoint,
    SlurmIdentity,
    StepState,
    StepStatus,
)
from clusters.picking import they_pick
from clusters.provisioning import use
from clusters.provisioning.lease import Lease, held
from clusters.provisioning.pace import Pace
from clusters.services import desired, kubeconfigs, picked, prefixes
from clusters.services.moves import move
from clusters.services.stalls import tell_operators
from clusters.services.unix_ids import give_other_ports
from portal.lib import clock
from portal.lib.errors import OutsideError
from tenants.actor import SYSTEM
from tenants.commands import command
from tenants.live.topics import publish_all

ON_PORTS = ("control-plane", "slurm")  # steps whose programs listen on the cluster's own ports


def sum_up_forward(
    lease: Lease, states: Mapping[str, StepState], *, needed: Collection[str], pace: Pace
) -> Pace:
    """Phase of a wanted cluster, and what becoming ready sets in motion.

    Ready is what people can use: when every step of `needed` is. Another one may still be on its first way.
    """
    rows = list(states.values())
    ready = all(use.is_ready(states[name], lease.generation) for name in needed)
    whole = ready and all(use.is_ready(one, lease.generation) or use.is_coming(one) for one in rows)
    with held(lease) as cluster:
        if not cluster.wanted or cluster.phase == Phase.FAILED:
            return pace  # ended during the pass: the next one, due at once, sees to it
        _follow_slurm(cluster, states)
        if ready:
            _became_ready(cluster, lease)
        _sum_up(cluster, _phase_forward(cluster, rows, whole=whole), rows, pace)
        pace.ready = cluster.was_ready
    return pace


def sum_up_backward(lease: Lease, states: Mapping[str, StepState], *, pace: Pace) -> Pace:
    """Phase of a cluster that is to go; deleted only when every step was seen gone."""
    rows = list(states.values())
    with held(lease) as cluster:
        gone = all(state.status == StepStatus.GONE for state in rows)
        if gone:
            _became_deleted(cluster)
        _sum_up(cluster, Phase.DELETED if gone else Phase.DELETING, rows, pace)
    return pace


def stall(lease: Lease, error: OutsideError) -> None:
    """Nothing of the cluster could be looked at: a person is needed."""
    with held(lease) as cluster:
        if cluster.reason != error.reason:
            tell_operators(cluster, reason=error.reason, message=error.message, hint=error.hint)
        _write(cluster, cluster.phase, error.reason, error.message)


def after_look(lease: Lease, state: StepState) -> None:
    """A cluster whose ports were taken before anything of it ever ran gets others; the next pass uses them.

    Two installations that start at the same moment may have chosen the same block. Where the outside picks
    machines, those are noted that it has picked.
    """
    if state.name == "nodes" and state.status == StepStatus.READY and state.facts.get("nodes"):
        with held(lease) as cluster:
            if they_pick(cluster.site):
                picked.follow(cluster, str(state.facts["nodes"]))
    if state.reason != "PortInUse" or state.name not in ON_PORTS:
        return
    with held(lease) as cluster:
        if not cluster.steps.filter(name__in=ON_PORTS, ready_at__isnull=False).exists():
            give_other_ports(cluster)


def after_removal_look(lease: Lease, state: StepState) -> None:
    """Machines are wiped while they are being given back, and free once they were seen to be back."""
    if state.name != "machines":
        return
    with held(lease) as cluster:
        if state.status == StepStatus.GONE:
            _free_machines(cluster)
        else:
            _machines_of(cluster).update(state=MachineState.WIPING)


def _phase_forward(cluster: Cluster, rows: Iterable[StepState], *, whole: bool) -> str:
    if whole:
        return Phase.READY
    if not cluster.was_ready:
        return Phase.PROVISIONING
    statuses = {state.status for state in rows}
    drifted = StepStatus.PROGRESSING in statuses and cluster.observed_generation == cluster.generation
    if statuses & {StepStatus.STALLED, StepStatus.DRIFTED} or drifted:
        return Phase.DEGRADED
    return cluster.phase  # following a wanted change is no degradation


def _sum_up(cluster: Cluster, phase: str, rows: list[StepState], pace: Pace) -> None:
    moving = {StepStatus.PROGRESSING, StepStatus.REMOVING}
    pace.progressing = any(state.status in moving for state in rows)
    pace.quiet = 0 if pace.changed else cluster.quiet_passes + 1
    cluster.attempts, cluster.quiet_passes, cluster.observed_at = pace.attempts, pace.quiet, clock.now()
    cluster.save(
        update_fields=[
            "attempts",
            "quiet_passes",
            "observed_at",
            "ready_at",
            "observed_generation",
            "deleted_at",
        ]
    )
    if phase == Phase.READY:
        rows = [state for state in rows if not use.is_coming(state)]
    told = [state for state in rows if state.status == StepStatus.STALLED]
    told += [state for state in rows if state.reason and state.status != StepStatus.STALLED]
    _write(cluster, phase, told[0].reason if told else "", told[0].message if told else "")


def _write(cluster: Cluster, phase: str, reason: str, message: str) -> None:
    if (cluster.phase, cluster.reason, cluster.message) == (phase, reason, message):
        return
    cluster.phase, cluster.reason, cluster.message = phase, reason, message
    cluster.save(update_fields=["phase", "reason", "message"])
    publish_all(live.of_cluster(cluster))


def _became_ready(cluster: Cluster, lease: Lease) -> None:
    cluster.observed_generation = lease.generation
    if cluster.ready_at is None:
        cluster.ready_at = clock.now()
        _fulfil(cluster, OrderKind.CREATE)
    if lease.generation != cluster.generation:
        return  # something else is wanted since; what was seen says nothing about that
    # columns that are written below must not be read again before
    cluster.save(update_fields=["observed_generation", "ready_at"])
    if not desired.give_back_emptied(cluster):
        desired.free_returned(cluster)
        _fulfil(cluster, OrderKind.RESIZE)


def _became_deleted(cluster: Cluster) -> None:
    cluster.deleted_at = clock.now()
    _free_machines(cluster)
    # its ports go to another cluster: nobody may speak to the old address any more
    PortBlock.objects.filter(cluster=cluster).delete()
    prefixes.take_back(cluster)
    SlurmEndpoint.objects.filter(cluster=cluster).update(url="", next_observe_at=None)
    SlurmIdentity.objects.filter(cluster=cluster).update(active=False)
    kubeconfigs.cluster_gone(cluster)
    ClusterSecret.objects.filter(cluster=cluster).delete()  # the server that took them is gone
    _fulfil(cluster, OrderKind.TERMINATE)


def _fulfil(cluster: Cluster, kind: OrderKind) -> None:
    orders = Order.objects.filter(cluster=cluster, kind=kind, state=OrderState.APPROVED)
    for order in orders.select_related("tenant"):
        with command("order.fulfilled", actor=SYSTEM, target=order) as done:
            move(order, OrderState.APPROVED, OrderState.FULFILLED, ended_at=clock.now())
            done.publish(*live.of_order(order))


def _follow_slurm(cluster: Cluster, states: Mapping[str, StepState]) -> None:
    state = states.get("slurm")
    if state is None or state.status != StepStatus.READY or not state.facts.get("url"):
        return
    told = {name: str(state.facts.get(name, "")) for name in ("url", "api_version", "release")}
    endpoint = SlurmEndpoint.objects.filter(cluster=cluster)
    if not endpoint.filter(**told).exists():
        endpoint.update(**told, next_observe_at=clock.now())


def _machines_of(cluster: Cluster) -> QuerySet[Machine]:
    mine = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    return Machine.objects.filter(pk__in=mine.values("machine_id"))


def _free_machines(cluster: Cluster) -> None:
    now = clock.now()
    _machines_of(cluster).exclude(state=MachineState.BROKEN).update(state=MachineState.FREE, wiped_at=now)
    Allocation.objects.filter(pool__cluster=cluster, released_at=None).update(released_at=now)
