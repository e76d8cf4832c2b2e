"""An order of plain Kubernetes, from approval to nothing left, by the real engine and real daemons."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from clusters.models import Cluster, Order, OrderState, Phase, SlurmEndpoint, SlurmIdentity, Stack, StepState
from clusters.provisioning.plan import make_plan
from clusters.services.clusters import terminate_cluster
from clusters.services.decisions import approve_order
from clusters.services.orders import submit_order
from tests.builders import actor_for, make_tenant
from tests.clusters.builders import make_flavor, make_site, operator, owner_of, request_for
from tests.clusters.drivers.kube_subjects import linked
from tests.clusters.drivers.lab import Lab, free_ids, open_lab
from tests.clusters.test_real_build import reconcile_until
from tests.clusters.test_real_kube import download, is_whole, kubectl
from tests.fixtures.ports import free_block

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def lab(settings: Settings) -> Iterator[Lab]:
    """A data folder, ids and ports of this test's own."""

    opened = open_lab()
    ports = free_block(100)
    settings.DATA_FOLDER = opened.settings.data
    settings.LOCAL_PORTS = f"{ports.start}-{ports.stop - 1}"
    settings.LOCAL_UID_BASE = free_ids(40)
    yield linked(opened)
    opened.close()


def test_it_ends_ready_without_slurm_and_goes_whole(lab: Lab, tmp_path: Path) -> None:
    tenant = make_tenant()
    owner = actor_for(owner_of(tenant), tenant)
    site = make_site(
        machines=2, flavor=make_flavor("a100-2", gpus=2, cpus=4, memory_mib=8000), driver="local"
    )
    site.drivers = {**site.drivers, "control_plane": "local", "kubernetes": "kubernetes_stack"}
    site.save()
    request = dataclasses.replace(request_for(site, nodes=2), stack=Stack.KUBERNETES)
    order = submit_order(actor=owner, key=uuid.uuid4(), request=request)
    make_plan(str(order.pk))
    order.refresh_from_db()
    assert order.plan is not None
    *_, last, shown = order.plan["steps"]
    assert (last["name"], shown["name"]) == ("kubernetes", "isolation")
    assert [change["thing"] for change in last["changes"]] == ["ResourceQuota default/freehold"]
    cluster = approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="").cluster
    assert cluster is not None
    reconcile_until(cluster, is_whole)
    names = set(StepState.objects.filter(cluster=cluster).values_list("name", flat=True))
    assert names == {"machines", "fabric", "control-plane", "nodes", "kubernetes", "isolation"}
    assert not SlurmEndpoint.objects.filter(cluster=cluster).exists()
    assert not SlurmIdentity.objects.filter(cluster=cluster).exists()
    assert Order.objects.get(pk=order.pk).state == OrderState.FULFILLED
    config = download(Cluster.objects.get(pk=cluster.pk), tmp_path)
    quota = kubectl(config, "get", "resourcequota", "freehold", "-o", "jsonpath={.spec.hard.pods}")
    assert (quota.returncode, quota.stdout) == (0, "500"), quota.stderr
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    reconcile_until(cluster, lambda row: row.phase == Phase.DELETED)
