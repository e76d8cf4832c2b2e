"""Resizes on a real Slurm, driven by the engine: growth, shrinking and going back, with jobs that run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.conf import LazySettings

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobId, SubmitRequest
from clusters.drivers.local.names import longest_node_name, node_name
from clusters.drivers.slurm_probe import gateways
from clusters.models import (
    Allocation,
    Cluster,
    IdentityKind,
    Machine,
    MachineState,
    Order,
    OrderState,
    Phase,
    StepState,
    StepStatus,
)
from clusters.provisioning import engine
from clusters.provisioning.registry import FACTORIES, Wanted
from clusters.provisioning.steps import ClusterSpec, Observed, Step, StepContext
from clusters.services.clusters import give_up, retry
from clusters.services.observation import save_nodes
from clusters.services.orders import cancel_order
from portal.lib import clock
from portal.lib.crypto import unseal
from portal.lib.errors import PermanentError
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import approve, make_cluster, make_flavor, make_site, operator, owner_of, resize
from tests.clusters.drivers.lab import Lab, free_ids, open_lab
from tests.clusters.drivers.test_daemons import of_uid
from tests.fixtures.ports import free_block

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


class Faulty:
    """A step of which apply fails for ever, as long as the spec holds more machines than it may."""

    def __init__(self, step: Step, most: int) -> None:
        self.step = step
        self.most = most
        self.name, self.component = step.name, step.component
        self.needs, self.deadline = step.needs, step.deadline

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        return self.step.describe(spec)

    def observe(self, ctx: StepContext) -> Observed:
        return self.step.observe(ctx)

    def apply(self, ctx: StepContext) -> None:
        if sum(len(pool.machines) for pool in ctx.spec.pools) > self.most:
            raise PermanentError("Broken", "It does not do it.", hint="Mend it.")
        self.step.apply(ctx)

    def remove(self, ctx: StepContext) -> None:
        raise AssertionError("nothing is ever removed by a change")


@dataclass
class Real:
    """A cluster of two nodes, built by the engine on real daemons."""

    lab: Lab
    cluster: Cluster

    def drive(self, done: Callable[[], bool], *, seconds: float = 180) -> None:
        """What the workers do, until it is done."""
        end = time.monotonic() + seconds
        while not done():
            engine.reconcile(self.cluster.pk)
            told = list(
                StepState.objects.filter(cluster=self.cluster).values_list("name", "status", "message")
            )
            assert time.monotonic() < end, f"not within {seconds} s: {told}"
            time.sleep(0.1)

    def fresh(self) -> Cluster:
        return Cluster.objects.select_related("site", "tenant").get(pk=self.cluster.pk)

    def is_settled(self) -> bool:
        row = self.fresh()
        quiet = (
            not Allocation.objects.filter(pool__cluster=row, released_at=None).exclude(stage="held").exists()
        )
        return row.phase == Phase.READY and row.observed_generation == row.generation and quiet

    def gateway(self, kind: IdentityKind = IdentityKind.OBSERVER) -> SlurmGateway:
        row = self.cluster.identities.get(kind=kind)
        facts = StepState.objects.get(cluster=self.cluster, name="slurm").facts
        return gateways.of(facts, row.name, unseal(bytes(self.cluster.slurm.sealed_jwt_key)))

    def start_job(self, seconds: int, *, node: str = "") -> JobId:
        """A job of the owner's, seen running."""
        gateway, row = (
            self.gateway(IdentityKind.MEMBER),
            self.cluster.identities.get(kind=IdentityKind.MEMBER),
        )
        folder = self.lab.settings.clusters / self.cluster.external_name
        job = gateway.submit(
            SubmitRequest(
                script=f"#!/bin/sh\nsleep {seconds}\n",
                environment={"PATH": "/usr/bin:/bin"},
                working_directory=str(folder / "home" / row.name),
                cpus_per_task=4,
            )
        ).job_id
        end = time.monotonic() + 60
        while gateway.job(job)[0].state != "RUNNING":
            assert time.monotonic() < end, "the job does not run"
            time.sleep(0.1)
        return job

    def runs(self, job: JobId, seconds: int) -> bool:
        """Slurm says so, and its process is there."""
        row = self.cluster.identities.get(kind=IdentityKind.MEMBER)
        return self.gateway().job(job)[0].state == "RUNNING" and f"sleep {seconds}" in of_uid(row.uid)

    def look(self) -> None:
        """What the observer writes of nodes."""
        save_nodes(self.cluster, self.gateway().nodes(), seen_at=clock.now())

    def machines(self) -> set[str]:
        rows = Allocation.objects.filter(pool__cluster=self.cluster, released_at=None)
        return set(rows.values_list("machine__name", flat=True))

    def entered(self) -> set[str]:
        """Machines of the cluster in the site's own books."""
        folder = self.lab.settings.data / "site" / "site-north" / "machines"
        return {path.stem for path in folder.glob("*.json")}

    def machine_of(self, node: str) -> str:
        """The machine on which a Slurm node runs."""
        longest = longest_node_name(self.lab.settings.clusters)
        names = Machine.objects.values_list("name", flat=True)
        return next(name for name in names if node_name(name, longest) == node)

    def nodes(self) -> set[str]:
        """Machines of which Slurm has a node that takes jobs."""
        return {self.machine_of(node.name) for node in self.gateway().nodes() if node.is_usable}


@pytest.fixture
def real(settings: LazySettings) -> Iterator[Real]:
    settings.LOCAL_UID_BASE = free_ids(20_000)
    ports = free_block(100)
    settings.LOCAL_PORTS = f"{ports.start}-{ports.stop - 1}"
    lab = open_lab()
    known = FACTORIES["local"]
    FACTORIES["local"] = lambda wanted: tuple(lab.site.values())
    try:
        small = make_flavor("a100-2", gpus=2, cpus=4, memory_mib=8000)
        site = make_site(machines=4, flavor=small, driver="local")
        built = Real(lab, make_cluster(make_tenant(), site))
        built.drive(built.is_settled)
        yield built
    finally:
        FACTORIES["local"] = known
        lab.close()


def state_of(order: Order) -> str:
    return Order.objects.get(pk=order.pk).state


def test_growing_and_shrinking_leave_a_running_job_alone(real: Real) -> None:
    job = real.start_job(2021)
    busy = real.machine_of(real.gateway().job(job)[0].nodes)
    order = approve(resize(real.cluster, train=4))
    real.drive(lambda: state_of(order) == OrderState.FULFILLED)
    assert real.nodes() == real.machines() == real.entered()
    assert len(real.machines()) == 4
    assert real.runs(job, 2021)

    real.look()
    order = resize(real.cluster, train=1)
    assert state_of(order) == OrderState.APPROVED
    real.drive(lambda: state_of(order) == OrderState.FULFILLED)
    assert real.nodes() == real.machines() == real.entered() == {busy}
    assert real.runs(job, 2021)
    free = Machine.objects.filter(state=MachineState.FREE)
    assert free.count() == 3
    assert not free.filter(wiped_at=None).exists()


@case("U38")
def test_a_shrink_waits_for_jobs_and_can_be_cancelled(real: Real) -> None:
    jobs = {real.start_job(2031): 2031, real.start_job(2032): 2032}
    real.look()
    order = resize(real.cluster, train=1)

    def waits() -> bool:
        return StepState.objects.filter(cluster=real.cluster, reason="NodesBusy").exists()

    real.drive(waits)
    state = StepState.objects.get(cluster=real.cluster, name="slurm")
    assert (state.status, state.deadline_at, state.waits_for) == (
        StepStatus.PROGRESSING,
        None,
        "running jobs",
    )
    assert any(f"job {job}" in state.message for job in jobs)
    assert len(real.entered()) == 2
    cancel_order(actor=actor_for(owner_of(real.cluster.tenant), real.cluster.tenant), order=order)
    real.drive(real.is_settled)
    assert real.nodes() == real.machines() == real.entered()
    assert len(real.nodes()) == 2
    assert all(real.runs(job, seconds) for job, seconds in jobs.items())


@case("U36", "U38")
@pytest.mark.parametrize("how", ["cancelled", "failed"])
@pytest.mark.parametrize("step", ["fabric", "slurm"])
def test_a_change_that_fails_for_ever_stalls_and_goes_back(real: Real, how: str, step: str) -> None:
    before, job = real.machines(), real.start_job(2041)
    steps: dict[str, Step] = {**real.lab.site, step: Faulty(real.lab.site[step], 2)}

    def faulty(wanted: Wanted) -> tuple[Step, ...]:
        return tuple(steps.values())

    FACTORIES["local"] = faulty
    order = approve(resize(real.cluster, train=3))
    for _ in range(2):  # for ever
        real.drive(lambda: StepState.objects.filter(cluster=real.cluster, status=StepStatus.STALLED).exists())
        assert real.fresh().phase == Phase.DEGRADED
        retry(actor=operator(), cluster=real.cluster)
    assert (state_of(order), real.runs(job, 2041)) == (OrderState.APPROVED, True)
    if how == "cancelled":
        cancel_order(actor=actor_for(owner_of(real.cluster.tenant), real.cluster.tenant), order=order)
    else:
        give_up(actor=operator(), cluster=real.cluster, note="It cannot be mended.")
    real.drive(real.is_settled)
    assert state_of(order) == how
    assert real.nodes() == real.machines() == real.entered() == before
    assert real.runs(job, 2041)
    assert Machine.objects.filter(state=MachineState.FREE).count() == 2
