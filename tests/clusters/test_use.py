"""A cluster is ready when jobs run: what they do not need may come later, or be missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.models import Cluster, Order, OrderState, Phase, StepState, StepStatus
from clusters.provisioning import engine, use
from clusters.provisioning.registry import FACTORIES, Wanted
from clusters.provisioning.steps import Step
from clusters.services import clusters as verbs
from tests.builders import make_tenant
from tests.clusters import fakes
from tests.clusters.builders import make_cluster, make_site, operator
from tests.clusters.fakes import FakeStep, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(world: World) -> Iterator[World]:
    """With a control plane beside Slurm, and nodes in it."""
    before = FACTORIES[fakes.DRIVER]

    def factory(wanted: Wanted) -> tuple[Step, ...]:
        plane = FakeStep(world, "control-plane", ("machines", "fabric"))
        return (*before(wanted), plane, FakeStep(world, "nodes", ("control-plane",)))

    FACTORIES[fakes.DRIVER] = factory
    yield world
    FACTORIES[fakes.DRIVER] = before  # and gone with the fixture below, which monkeypatch may outlive


@pytest.fixture
def cluster(world: World) -> Cluster:
    return make_cluster(make_tenant(), make_site())


def one_pass(cluster: Cluster) -> Cluster:
    engine.reconcile(cluster.pk)
    return Cluster.objects.get(pk=cluster.pk)


def status(cluster: Cluster, step: str) -> str:
    return StepState.objects.get(cluster=cluster, name=step).status


def test_what_jobs_need_is_the_proof_and_what_stands_before_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    plan = [FakeStep(world, name, needs) for name, needs in fakes.NAMES]
    beside = FakeStep(world, "control-plane", ("machines",))
    names = {step.name for step in plan}
    assert use.needed([*plan, beside]) == names
    slurm_on_kubernetes = FakeStep(world, "slurm", ("control-plane",))
    changed = [slurm_on_kubernetes if step.name == "slurm" else step for step in plan]
    assert use.needed([*changed, beside]) == names - {"fabric"} | {"control-plane"}
    without_proof = [step for step in plan if step.name != "smoke"]
    assert use.needed([*without_proof, beside]) == names - {"smoke"} | {"control-plane"}


def test_what_is_still_on_its_first_way_does_not_hold_the_cluster_up(world: World, cluster: Cluster) -> None:
    world.set("control-plane", slow=3)
    row = one_pass(cluster)
    assert (row.phase, row.reason) == (Phase.READY, "")
    assert Order.objects.get(cluster=cluster).state == OrderState.FULFILLED
    assert status(row, "control-plane") == StepStatus.PROGRESSING
    for _ in range(3):
        row = one_pass(cluster)
    assert (row.phase, status(row, "nodes")) == (Phase.READY, StepStatus.READY)


def test_what_stalls_beside_the_jobs_degrades_and_names_its_reason(world: World, cluster: Cluster) -> None:
    world.set("control-plane", fail="permanent")
    row = one_pass(cluster)
    assert row.phase == Phase.DEGRADED
    assert row.reason == StepState.objects.get(cluster=row, name="control-plane").reason != ""
    assert row.ready_at is not None
    assert Order.objects.get(cluster=cluster).state == OrderState.FULFILLED
    assert status(row, "nodes") == StepStatus.WAITING
    world.set("control-plane")
    verbs.retry(actor=operator(), cluster=row)
    row = one_pass(cluster)
    assert (row.phase, row.reason) == (Phase.READY, "")


def test_what_was_there_and_is_lost_degrades(world: World, cluster: Cluster) -> None:
    row = one_pass(cluster)
    assert row.phase == Phase.READY
    world.thing("control-plane", row.external_name).unlink()
    world.set("control-plane", slow=5)
    row = one_pass(cluster)
    assert row.phase == Phase.DEGRADED


def test_what_jobs_need_still_holds_it_up(world: World, cluster: Cluster) -> None:
    world.set("identity", slow=3)
    assert one_pass(cluster).phase == Phase.PROVISIONING
    assert Order.objects.get(cluster=cluster).state == OrderState.APPROVED
