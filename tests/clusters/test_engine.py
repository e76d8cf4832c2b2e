"""The engine over fake steps: forward, backward, trouble, deadlines, leases and drift."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine
from django.db.models import F

from clusters.models import (
    Allocation,
    Cluster,
    Machine,
    Node,
    Order,
    OrderState,
    Phase,
    PortBlock,
    SlurmEndpoint,
    StepEvent,
    StepState,
    StepStatus,
)
from clusters.provisioning import engine, looks
from clusters.provisioning.lease import Lease, LeaseLost, claim, held, release
from clusters.services import clusters as verbs
from clusters.services import observation
from clusters.services.orders import cancel_order
from clusters.services.wake import wake
from portal.lib import clock
from portal.lib.errors import WrongState
from tenants.live.topics import Topic, version_of
from tenants.models import AuditEvent, Tenant
from tests.builders import actor_for
from tests.cases import case
from tests.clusters.builders import make_cluster, make_site, operator, owner_of
from tests.clusters.fakes import NAMES, World

pytestmark = pytest.mark.django_db
STEPS = [name for name, _ in NAMES]


@pytest.fixture
def cluster(world: World, tenant: Tenant) -> Cluster:
    return make_cluster(tenant, make_site())


def fresh(cluster: Cluster) -> Cluster:
    return Cluster.objects.get(pk=cluster.pk)


def statuses(cluster: Cluster) -> dict[str, str]:
    return dict(StepState.objects.filter(cluster=cluster).values_list("name", "status"))


def passes(cluster: Cluster, count: int) -> None:
    for _ in range(count):
        engine.reconcile(cluster.pk)


def test_one_pass_builds_what_is_quick(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert row.phase == Phase.READY
    assert set(statuses(cluster).values()) == {StepStatus.READY}
    assert world.calls("apply") == STEPS
    assert row.observed_generation == row.generation
    assert row.lease_until is None
    assert Order.objects.get(cluster=cluster).state == OrderState.FULFILLED
    assert AuditEvent.objects.filter(verb="order.fulfilled", actor_kind="system").count() == 1
    cluster.slurm.refresh_from_db()
    assert (cluster.slurm.url, cluster.slurm.api_version, cluster.slurm.release) == (
        "http://127.0.0.1:9",
        "v0.0.38",
        "22.05.8",
    )


def test_a_step_gets_facts_of_the_steps_before_it(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    assert (
        StepState.objects.get(cluster=cluster, name="smoke").facts["needs"]
        == "fabric,identity,machines,slurm"
    )


def test_a_ready_cluster_is_looked_at_again_and_only_looked_at(world: World, cluster: Cluster) -> None:
    passes(cluster, 2)
    assert world.calls("apply") == STEPS  # the second pass asked for nothing
    due = fresh(cluster).next_reconcile_at
    assert due is not None
    assert dt.timedelta(minutes=7) < due - clock.now() < dt.timedelta(minutes=13)


def test_a_slow_step_holds_up_only_those_that_need_it(world: World, cluster: Cluster) -> None:
    world.set("slurm", slow=3)
    engine.reconcile(cluster.pk)
    assert statuses(cluster) == {
        "machines": "ready",
        "fabric": "ready",
        "slurm": "progressing",
        "identity": "waiting",
        "smoke": "waiting",
    }
    row = fresh(cluster)
    assert (row.phase, row.reason) == (Phase.PROVISIONING, "Starting")
    passes(cluster, 3)
    assert fresh(cluster).phase == Phase.READY
    assert world.calls("apply").count("slurm") == 1


def test_the_pace_of_a_quiet_build_slows_down(world: World, cluster: Cluster) -> None:
    world.set("slurm", slow=100)
    seen = []
    with time_machine.travel(clock.now(), tick=False):
        for _ in range(6):
            engine.reconcile(cluster.pk)
            due = fresh(cluster).next_reconcile_at
            assert due is not None
            seen.append((due - clock.now()).total_seconds())
    assert seen == [1, 2, 4, 8, 15, 15]


def test_temporary_errors_back_off_and_pass(world: World, cluster: Cluster) -> None:
    world.set("fabric", fail="temporary")
    delays = []
    with time_machine.travel(clock.now(), tick=False):
        for _ in range(12):
            engine.reconcile(cluster.pk)
            state = StepState.objects.get(cluster=cluster, name="fabric")
            assert (state.status, state.reason) == ("progressing", "NotReachable")
            due = fresh(cluster).next_reconcile_at
            assert due is not None
            delays.append((due - clock.now()).total_seconds())
        assert state.attempts == 12
    assert delays[0] < 3
    assert 12 * 60 <= delays[-1] <= 18 * 60
    world.set("fabric")
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.READY
    assert StepState.objects.get(cluster=cluster, name="fabric").attempts == 0


def test_a_permanent_error_stalls_until_someone_acts(world: World, cluster: Cluster) -> None:
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    state = StepState.objects.get(cluster=cluster, name="slurm")
    assert (state.status, state.reason, state.hint) == ("stalled", "NameTaken", "Find out who.")
    assert (row.phase, row.reason) == (Phase.PROVISIONING, "NameTaken")  # stalled is not failed
    assert row.next_reconcile_at is None
    world.set("slurm")
    engine.reconcile(cluster.pk)
    assert statuses(cluster)["slurm"] == "stalled"
    verbs.retry(actor=operator(), cluster=cluster)
    assert fresh(cluster).next_reconcile_at is not None
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.READY


def test_a_bug_is_counted_and_tried_again(world: World, cluster: Cluster) -> None:
    world.set("fabric", fail="bug")
    engine.reconcile(cluster.pk)
    state = StepState.objects.get(cluster=cluster, name="fabric")
    assert (state.status, state.reason, state.bugs) == ("progressing", "InternalError", 1)
    assert "bug of a driver" not in state.message
    assert fresh(cluster).next_reconcile_at is not None
    world.set("fabric")
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.READY


@case("U38")
def test_a_lost_answer_makes_nothing_twice(world: World, cluster: Cluster) -> None:
    for name in STEPS:
        world.set(name, lost=True)
    passes(cluster, 8)
    assert fresh(cluster).phase == Phase.READY
    assert sorted(world.calls("created")) == sorted(STEPS)
    tries = StepState.objects.filter(cluster=cluster).values_list("tries", flat=True)
    assert set(tries) == {1}


def test_a_missed_deadline_stalls_and_removes_nothing(world: World, cluster: Cluster) -> None:
    world.set("slurm", slow=1000)
    engine.reconcile(cluster.pk)
    with time_machine.travel(clock.now() + dt.timedelta(minutes=2)):
        engine.reconcile(cluster.pk)
    state = StepState.objects.get(cluster=cluster, name="slurm")
    assert (state.status, state.reason) == ("stalled", "DeadlinePassed")
    assert "It is starting." in state.message
    assert world.calls("remove") == []


@case("U38")
def test_waiting_for_a_person_is_no_time_out(world: World, cluster: Cluster) -> None:
    world.set("slurm", slow=3)
    engine.reconcile(cluster.pk)
    verbs.pause(actor=operator(), cluster=cluster)
    with time_machine.travel(clock.now() + dt.timedelta(days=2)):
        engine.reconcile(cluster.pk)
        assert statuses(cluster)["slurm"] == "progressing"
        verbs.resume(actor=operator(), cluster=cluster)
        passes(cluster, 4)
        assert fresh(cluster).phase == Phase.READY


def test_a_paused_cluster_is_left_alone(world: World, cluster: Cluster) -> None:
    verbs.pause(actor=operator(), cluster=cluster)
    engine.reconcile(cluster.pk)
    assert world.lines() == []
    with pytest.raises(WrongState, match="paused already"):
        verbs.pause(actor=operator(), cluster=cluster)


def test_drift_is_mended_and_shown(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    world.thing("slurm", cluster.external_name).unlink()
    world.set("slurm", slow=3)
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.DEGRADED
    assert statuses(cluster)["identity"] == "ready"  # nothing new is known about it
    passes(cluster, 3)
    assert fresh(cluster).phase == Phase.READY
    assert world.calls("remove") == []


def test_no_answer_changes_nothing_that_is_believed(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    seen = StepState.objects.get(cluster=cluster, name="fabric").observed_at
    world.set("fabric", fail="temporary")
    engine.reconcile(cluster.pk)
    state = StepState.objects.get(cluster=cluster, name="fabric")
    assert (state.status, state.reason, state.observed_at) == ("ready", "NotReachable", seen)
    row = fresh(cluster)
    assert (row.phase, row.reason) == (Phase.READY, "NotReachable")


def test_removal_goes_backwards_and_frees_machines_at_the_end(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    verbs.terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    world.set("machines", fail="temporary", on="remove")
    engine.reconcile(cluster.pk)
    assert world.calls("remove") == [*reversed(STEPS[1:]), "machines"]
    assert set(
        Machine.objects.filter(allocations__pool__cluster=cluster).values_list("state", flat=True)
    ) == {"wiping"}
    world.set("machines")
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert row.phase == Phase.DELETED
    assert row.deleted_at is not None
    assert world.things() == []
    assert not Allocation.objects.filter(released_at=None).exists()
    assert not PortBlock.objects.filter(cluster=cluster).exists()
    wiped = Machine.objects.filter(allocations__pool__cluster=cluster)
    assert {(machine.state, machine.wiped_at is not None) for machine in wiped} == {("free", True)}
    assert Order.objects.get(cluster=cluster, kind="terminate").state == OrderState.FULFILLED
    engine.reconcile(cluster.pk)  # nothing more to do
    assert fresh(cluster).lease_until is None


def test_nothing_is_called_gone_without_an_answer(world: World, cluster: Cluster) -> None:
    engine.reconcile(cluster.pk)
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    verbs.terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    world.set("smoke", fail="temporary")
    passes(cluster, 3)
    assert statuses(cluster)["smoke"] == "removing"
    assert statuses(cluster)["identity"] == "ready"  # its dependant was not seen gone
    assert fresh(cluster).phase == Phase.DELETING
    assert Allocation.objects.filter(released_at=None).count() == 2


@case("U36", "U38")
def test_cancelling_half_way_takes_back_only_what_this_order_made(world: World, tenant: Tenant) -> None:
    site = make_site()
    other = make_cluster(tenant, site, name="other", nodes=1)
    engine.reconcile(other.pk)
    cluster = make_cluster(tenant, site, name="gpu-b", nodes=1)
    world.set("slurm", slow=1000)
    engine.reconcile(cluster.pk)
    order = Order.objects.get(cluster=cluster)
    cancel_order(actor=actor_for(owner_of(tenant), tenant), order=order)
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.DELETED
    assert Order.objects.get(pk=order.pk).state == OrderState.CANCELLED
    assert world.things() == sorted(f"{step}.{other.external_name}" for step in STEPS)
    assert fresh(other).phase == Phase.READY


@case("U38")
def test_two_workers_never_run_one_cluster(world: World, cluster: Cluster) -> None:
    lease = claim(cluster.pk)
    assert lease is not None
    assert claim(cluster.pk) is None
    engine.reconcile(cluster.pk)
    assert world.lines() == []
    release(lease, next_at=None)
    engine.reconcile(cluster.pk)
    assert world.calls("apply") == STEPS


@case("U38")
def test_a_stale_worker_hits_no_row(world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = looks.forward
    taken: list[Lease | None] = []

    def overtaken(step: object, ctx: object, *, hold_back: bool) -> looks.Look:
        look = forward(step, ctx, hold_back=hold_back)  # type: ignore[arg-type]
        if not taken:  # this worker was so slow that its lease ended and another one claimed
            Cluster.objects.filter(pk=cluster.pk).update(lease_until=clock.now() - dt.timedelta(seconds=1))
            taken.append(claim(cluster.pk))
        return look

    monkeypatch.setattr(looks, "forward", overtaken)
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert taken[0] is not None
    assert row.lease_epoch == taken[0].epoch
    assert row.lease_until is not None  # the other's lease was not given back
    assert row.phase == Phase.PENDING
    assert statuses(cluster)["machines"] == "progressing"  # written before the overtaking
    assert statuses(cluster)["fabric"] == "waiting"
    stale = Lease(cluster.pk, taken[0].epoch - 1, 0, 1)
    with pytest.raises(LeaseLost), held(stale):
        pytest.fail("a stale lease gave access")


def test_a_wish_during_a_pass_is_not_slept_over(world: World, cluster: Cluster) -> None:
    lease = claim(cluster.pk)
    assert lease is not None
    wake(cluster, generation=F("generation") + 1)
    release(lease, next_at=clock.now() + dt.timedelta(hours=1))
    due = fresh(cluster).next_reconcile_at
    assert due is not None
    assert due <= clock.now()


def test_every_change_of_a_step_is_an_event_and_a_new_version(world: World, cluster: Cluster) -> None:
    topic = Topic(cluster.tenant_id, "cluster", cluster.pk)
    before = version_of(topic)
    engine.reconcile(cluster.pk)
    mine = StepEvent.objects.filter(cluster=cluster, step="slurm").values_list("status", flat=True)
    assert list(mine) == ["progressing", "ready"]
    after = version_of(topic)
    assert after > before
    engine.reconcile(cluster.pk)
    assert version_of(topic) == after  # nothing new, nobody is told


def test_an_unknown_driver_stalls_the_cluster(world: World, cluster: Cluster) -> None:
    cluster.site.drivers = {"machines": "unheard-of", "slurm": "unheard-of"}
    cluster.site.save()
    engine.reconcile(cluster.pk)
    row = fresh(cluster)
    assert (row.reason, row.next_reconcile_at, row.lease_until) == ("NoDriver", None, None)


def test_nodes_are_looked_at_again_when_slurm_is_ready_as_it_is_wanted(
    world: World, cluster: Cluster
) -> None:
    now = clock.now()
    for name in ("stays", "left"):
        Node.objects.create(cluster=cluster, name=name, state="UNKNOWN", observed_at=now)
    SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=now + dt.timedelta(hours=1))
    observation.after_change(cluster.pk, told="stays=machine-1,new")
    assert [node.name for node in Node.objects.filter(cluster=cluster)] == ["stays"]
    endpoint = SlurmEndpoint.objects.get(cluster=cluster)
    assert endpoint.next_observe_at == now + observation.NODES_EVERY  # when nodes are read again
    later = now + dt.timedelta(hours=1)
    SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=later)
    engine.reconcile(cluster.pk)
    endpoint.refresh_from_db()
    assert endpoint.next_observe_at is not None
    assert endpoint.next_observe_at < later
    SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=later)
    engine.reconcile(cluster.pk)  # nothing changed
    endpoint.refresh_from_db()
    assert endpoint.next_observe_at == later
