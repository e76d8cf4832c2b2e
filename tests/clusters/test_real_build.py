"""The engine with the local drivers: an approved order becomes a real Slurm cluster, and goes again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from pytest_django.fixtures import Settings

from clusters.drivers.slurm_probe import gateways
from clusters.models import Cluster, Machine, MachineState, Phase, SlurmIdentity
from clusters.provisioning import engine
from clusters.services.clusters import terminate_cluster
from portal.lib import clock
from portal.lib.crypto import unseal
from tenants.hooks import tell_membership_changed
from tenants.models import Membership, Role
from tests.builders import actor_for, make_member, make_tenant
from tests.clusters.builders import approved_order, make_flavor, make_site, owner_of
from tests.clusters.drivers.lab import Lab, free_ids, open_lab
from tests.fixtures.ports import free_block

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
APPROVAL_TO_READY = 60.0  # seconds; ten on a machine that does nothing else


@pytest.fixture
def lab(settings: Settings) -> Iterator[Lab]:
    """A data folder, ids and ports of this test's own."""
    opened = open_lab()
    ports = free_block(100)
    settings.DATA_FOLDER = opened.settings.data
    settings.LOCAL_PORTS = f"{ports.start}-{ports.stop - 1}"
    settings.LOCAL_UID_BASE = free_ids(30)
    yield opened
    opened.close()


def reconcile_until(cluster: Cluster, done: Callable[[Cluster], bool]) -> float:
    """Let workers come when the engine says so; seconds that it took."""
    began = time.monotonic()
    while time.monotonic() - began < 240:
        row = Cluster.objects.get(pk=cluster.pk)
        if done(row):
            return time.monotonic() - began
        assert row.next_reconcile_at is not None, [
            f"{step.name} {step.status} {step.reason} {step.message}" for step in row.steps.all()
        ]
        if row.next_reconcile_at <= clock.now():
            engine.reconcile(row.pk)
        else:
            time.sleep(0.05)  # until the moment that the engine named
    steps = [f"{step.name} {step.status} {step.reason} {step.message}" for step in cluster.steps.all()]
    raise AssertionError(f"not settled: {steps}")


def ping(cluster: Cluster, account: str) -> bool:
    """Whether the cluster's slurmrestd answers to this account."""
    facts = {"url": cluster.slurm.url, "api_version": cluster.slurm.api_version}
    return bool(gateways.of(facts, account, unseal(bytes(cluster.slurm.sealed_jwt_key))).nodes())


def test_from_approval_to_ready_and_away(lab: Lab) -> None:
    tenant = make_tenant()
    flavor = make_flavor("a100-2", gpus=2, cpus=4, memory_mib=8000)
    order = approved_order(tenant, make_site(machines=2, flavor=flavor, driver="local"), nodes=2)
    cluster = order.cluster
    assert cluster is not None
    took = reconcile_until(cluster, lambda row: row.phase == Phase.READY)
    assert took < APPROVAL_TO_READY, f"{took:.1f} s from approval to ready"
    cluster = Cluster.objects.get(pk=cluster.pk)
    assert cluster.slurm.release
    member = Membership.objects.get(user=make_member(tenant, Role.MEMBER))
    tell_membership_changed(member)
    reconcile_until(cluster, lambda row: row.observed_generation == row.generation)
    assert ping(cluster, SlurmIdentity.objects.get(cluster=cluster, membership=member).name)
    owner = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    reconcile_until(cluster, lambda row: row.phase == Phase.DELETED)
    assert set(Machine.objects.values_list("state", flat=True)) == {MachineState.FREE}
    assert not (lab.settings.clusters / cluster.external_name).exists()
