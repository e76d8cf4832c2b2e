"""A change on its way through the engine: forward, stalled, cancelled, given up; nothing is ever removed."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine

from clusters.models import (
    Allocation,
    AllocationStage,
    Cluster,
    DesiredPools,
    Machine,
    MachineState,
    Order,
    OrderState,
    Phase,
    StepState,
)
from clusters.provisioning import engine
from clusters.services import desired
from clusters.services.clusters import give_up, retry, terminate_cluster
from clusters.services.orders import cancel_order
from portal.lib import clock
from portal.lib.errors import WrongState
from tenants.models import Tenant
from tests.builders import actor_for, make_member
from tests.cases import case
from tests.clusters.builders import approve, make_cluster, make_site, operator, owner_of, resize
from tests.clusters.fakes import World, read

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]


@pytest.fixture
def cluster(tenant: Tenant, world: World) -> Cluster:
    found = make_cluster(tenant, make_site(machines=6))
    engine.reconcile(found.pk)
    return fresh(found)


def fresh(cluster: Cluster) -> Cluster:
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def state_of(order: Order) -> str:
    return Order.objects.get(pk=order.pk).state


def machines(cluster: Cluster, stage: str = "held") -> set[str]:
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None, stage=stage)
    return set(rows.values_list("machine__name", flat=True))


def outside(world: World, cluster: Cluster, step: str) -> set[str]:
    """The machines that a step of the fake site holds."""
    pools = read(world.thing(step, cluster.external_name))["wanted"]["pools"]
    return {machine for names in pools.values() for machine in names}


def free() -> int:
    return Machine.objects.filter(state=MachineState.FREE).count()


def cancel(order: Order) -> None:
    order = Order.objects.get(pk=order.pk)
    cancel_order(actor=actor_for(owner_of(order.tenant), order.tenant), order=order)


def as_before(world: World, cluster: Cluster, names: set[str]) -> None:
    """It is what it was, inside and outside, and nothing was ever removed."""
    row = fresh(cluster)
    assert (row.phase, row.observed_generation, row.wanted) == (Phase.READY, row.generation, True)
    assert machines(cluster) == names
    for step in ("machines", "fabric", "slurm", "identity", "smoke"):
        assert outside(world, cluster, step) == names
    assert desired.is_settled(row)
    assert world.calls("remove") == []


def test_growing_goes_forward_and_is_fulfilled_when_seen(cluster: Cluster, world: World) -> None:
    world.set("slurm", slow=1)
    order = approve(resize(cluster, train=4))
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert row.phase == Phase.READY  # following a wanted change is no degradation
    engine.reconcile(cluster.pk)
    assert state_of(order) == OrderState.FULFILLED
    assert len(outside(world, cluster, "smoke")) == 4
    assert world.calls("remove") == []


def test_a_machine_is_free_only_after_it_was_emptied_and_wiped(cluster: Cluster, world: World) -> None:
    order = resize(cluster, train=1)
    (leaving,) = machines(cluster, "leaving")
    assert free() == 4
    engine.reconcile(cluster.pk)
    # emptied: Slurm works without it, and the site may wipe it from now on
    assert machines(cluster, "returning") == {leaving}
    assert leaving not in outside(world, cluster, "slurm")
    assert leaving in outside(world, cluster, "machines")
    assert Machine.objects.get(name=leaving).state == MachineState.WIPING
    assert state_of(order) == OrderState.APPROVED
    world.set("machines", fail="temporary", on="apply")
    engine.reconcile(cluster.pk)
    assert (free(), state_of(order)) == (4, OrderState.APPROVED)
    world.set("machines")
    engine.reconcile(cluster.pk)
    machine = Machine.objects.get(name=leaving)
    assert (machine.state, machine.wiped_at is not None) == (MachineState.FREE, True)
    assert state_of(order) == OrderState.FULFILLED
    as_before(world, cluster, machines(cluster))
    assert len(machines(cluster)) == 1


def test_running_jobs_are_waited_for_and_no_deadline_runs(cluster: Cluster, world: World) -> None:
    world.set("slurm", busy="4711")
    order = resize(cluster, train=1)
    engine.reconcile(cluster.pk)
    with time_machine.travel(clock.now() + dt.timedelta(days=3)):
        engine.reconcile(cluster.pk)
        state = StepState.objects.get(cluster=cluster, name="slurm")
        assert (state.status, state.reason, state.waits_for, state.deadline_at) == (
            "progressing",
            "NodesBusy",
            "running jobs",
            None,
        )
        assert fresh(cluster).phase == Phase.READY
        world.set("slurm")
        engine.reconcile(cluster.pk)
        engine.reconcile(cluster.pk)
        assert state_of(order) == OrderState.FULFILLED


def test_waiting_for_jobs_can_be_cancelled(cluster: Cluster, world: World) -> None:
    names = machines(cluster)
    world.set("slurm", busy="4711")
    order = resize(cluster, train=1)
    engine.reconcile(cluster.pk)
    cancel(order)
    engine.reconcile(cluster.pk)
    as_before(world, cluster, names)
    assert state_of(order) == OrderState.CANCELLED
    assert DesiredPools.objects.filter(order=order).values_list("restores", flat=True).last() is True


def test_cancelled_while_it_is_being_wiped_it_comes_back(cluster: Cluster, world: World) -> None:
    names = machines(cluster)
    order = resize(cluster, train=1)
    engine.reconcile(cluster.pk)
    world.set("machines", fail="temporary", on="apply")
    engine.reconcile(cluster.pk)
    cancel(order)
    assert machines(cluster) == names
    world.set("machines")
    engine.reconcile(cluster.pk)
    as_before(world, cluster, names)
    assert set(Machine.objects.filter(name__in=names).values_list("state", flat=True)) == {"in_use"}


@case("U36", "U38")
@pytest.mark.parametrize("step", ["machines", "fabric", "slurm", "identity", "smoke"])
@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_a_change_that_stalls_goes_back_and_never_tears_down(
    cluster: Cluster, world: World, step: str, how: str
) -> None:
    names = machines(cluster)
    order = approve(resize(cluster, train=3))
    (added,) = machines(cluster) - names
    world.set(step, fail="permanent", on="apply", when=added)
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert StepState.objects.get(cluster=cluster, name=step).status == "stalled"
    assert (row.phase, state_of(order)) == (Phase.DEGRADED, OrderState.APPROVED)  # stalled is not failed
    for _ in range(2):  # for ever
        retry(actor=operator(), cluster=cluster)
        engine.reconcile(cluster.pk)
    assert state_of(order) == OrderState.APPROVED
    if how == "cancelled":
        cancel(order)
    else:
        give_up(actor=operator(), cluster=cluster, note="The switch is broken.")
    assert state_of(order) == how
    for _ in range(2):
        engine.reconcile(cluster.pk)
    as_before(world, cluster, names)
    assert free() == 4


def test_a_missed_deadline_of_a_change_stalls_and_removes_nothing(cluster: Cluster, world: World) -> None:
    order = approve(resize(cluster, train=3))
    world.set("slurm", slow=1000)
    engine.reconcile(cluster.pk)
    with time_machine.travel(clock.now() + dt.timedelta(minutes=2)):
        engine.reconcile(cluster.pk)
    state = StepState.objects.get(cluster=cluster, name="slurm")
    assert (state.status, state.reason) == ("stalled", "DeadlinePassed")
    assert (state_of(order), world.calls("remove")) == (OrderState.APPROVED, [])


def test_only_what_is_under_way_is_given_up(cluster: Cluster, world: World) -> None:
    with pytest.raises(WrongState, match="none is under way"):
        give_up(actor=operator(), cluster=cluster, note="Why not.")
    order = resize(cluster, train=3)
    with pytest.raises(WrongState, match="none is under way"):
        give_up(actor=operator(), cluster=cluster, note="Still waits.")
    approve(order)
    give_up(actor=operator(), cluster=cluster, note="Out of power.")
    order.refresh_from_db()
    assert (order.state, order.decision_note) == (OrderState.FAILED, "Out of power.")
    row = fresh(cluster)
    assert (row.phase, row.wanted) == (Phase.READY, True)


def test_a_pool_goes_and_may_come_again(cluster: Cluster, world: World) -> None:
    approve(resize(cluster, new=2))
    engine.reconcile(cluster.pk)
    order = resize(cluster, extra=0)
    for _ in range(2):
        engine.reconcile(cluster.pk)
    assert state_of(order) == OrderState.FULFILLED
    assert dict(cluster.pools.values_list("name", "count")) == {"train": 2, "extra": 0}
    assert outside(world, cluster, "slurm") == outside(world, cluster, "machines") == machines(cluster)
    again = approve(resize(cluster, new=1))
    engine.reconcile(cluster.pk)
    assert state_of(again) == OrderState.FULFILLED


def test_the_end_wins_over_a_change(cluster: Cluster, world: World) -> None:
    names = machines(cluster)
    order = approve(resize(cluster, train=3))
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    ending = terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name)
    assert state_of(order) == OrderState.CANCELLED
    for _ in range(2):
        engine.reconcile(cluster.pk)
    as_before(world, cluster, names)  # it lives on for its grace, as it was
    cancel_order(actor=owner, order=ending)
    order = approve(resize(cluster, train=3))
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    assert state_of(order) == OrderState.CANCELLED
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.DELETED
    assert not Allocation.objects.filter(released_at=None).exists()
    assert free() == 6


def test_people_who_come_during_a_change_do_not_end_it(cluster: Cluster, world: World) -> None:
    world.set("slurm", slow=1000)
    order = approve(resize(cluster, train=3))
    engine.reconcile(cluster.pk)
    make_member(cluster.tenant)
    fresh(cluster)
    world.set("slurm")
    for _ in range(2):
        engine.reconcile(cluster.pk)
    assert state_of(order) == OrderState.FULFILLED


def test_each_change_is_a_generation_and_the_one_before_is_kept(cluster: Cluster) -> None:
    order = approve(resize(cluster, train=3))
    cancel(order)
    rows = list(DesiredPools.objects.filter(cluster=cluster))
    assert [(row.generation, row.restores, row.pools[0]["count"]) for row in rows] == [
        (1, False, 2),
        (2, False, 3),
        (3, True, 2),
    ]
    assert rows[0].pools == rows[2].pools
    assert fresh(cluster).generation == 3
    leaving = Allocation.objects.get(pool__cluster=cluster, stage=AllocationStage.LEAVING)
    assert leaving.machine.state == MachineState.IN_USE
