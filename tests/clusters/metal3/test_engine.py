"""A whole order on Metal3 and Netris through the real engine: built, grown, shrunk, removed, nothing left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusters.drivers import metal3, netris
from clusters.models import (
    Allocation,
    Cluster,
    FabricPrefix,
    Machine,
    MachineState,
    Offering,
    Phase,
    Site,
    StepState,
)
from clusters.provisioning import engine
from clusters.provisioning.registry import FACTORIES
from clusters.services.clusters import terminate_cluster
from clusters.services.secrets import set_site_secret
from portal.lib import clock
from tests.builders import actor_for, make_tenant
from tests.clusters import fakes
from tests.clusters.builders import approve, make_flavor, make_order, operator, owner_of, resize
from tests.clusters.metal3.subject import IMAGE, Metal3Subject
from tests.clusters.netris.server import USER, FakeNetris, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("kube"),
    pytest.mark.django_db,
]
MACHINES = [f"gpu-{number}" for number in range(1, 5)]


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[FakeNetris]:
    """A Netris controller."""
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def site(hosts: Metal3Subject, controller: FakeNetris, tmp_path: Path) -> Iterator[Site]:
    """A site of four machines; what runs on them is played."""
    known = dict(FACTORIES)
    world = fakes.install(tmp_path)
    played = tuple(step for step in fakes.steps(world) if step.name in {"slurm", "identity", "smoke"})
    FACTORIES[fakes.DRIVER] = lambda _: played
    FACTORIES["metal3"] = lambda wanted: metal3.steps(
        metal3.Metal3Settings.from_site(wanted.site.settings), lambda _: hosts.clients()
    )
    FACTORIES["netris"] = lambda wanted: (
        netris.FabricStep(netris.NetrisSettings.from_site(wanted.site.settings)),
    )
    made = Site.objects.create(
        name="DC one",
        slug="dc-one",
        drivers={"machines": "metal3", "fabric": "netris", "slurm": fakes.DRIVER},
        settings={
            "fabric": {"pool": "10.96.16.0/20", "length": 22},
            "metal3": {"namespace": hosts.metal3.namespace, "image": IMAGE},
            "netris": {
                "url": controller.url,
                "user": USER,
                "ca_file": controller.authorities,
                "site": "DC1",
                "tenant": "portal",
                "template": "gpu",
            },
        },
    )
    set_site_secret(actor=operator(), site=made, name="netris-password", value=controller.password.encode())
    flavor = make_flavor()
    Machine.objects.bulk_create(Machine(site=made, flavor=flavor, name=name) for name in MACHINES)
    Offering.objects.create(site=made, flavor=flavor, price_per_hour="1.00")
    yield made
    FACTORIES.clear()
    FACTORIES.update(known)


def reach(cluster: Cluster, phase: Phase) -> Cluster:
    """Passes, as the beat would make them, until the cluster is where it should be."""
    end = time.monotonic() + 180
    while True:
        engine.reconcile(cluster.pk)
        row = Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)
        if row.phase == phase and (phase != Phase.READY or row.observed_generation == row.generation):
            return row
        told = list(StepState.objects.filter(cluster=cluster).values_list("name", "status", "message"))
        assert time.monotonic() < end, (row.phase, told)
        time.sleep(0.1)


def held(cluster: Cluster) -> list[str]:
    """Machines that the cluster has by the books."""
    rows = Allocation.objects.filter(pool__cluster=cluster, released_at=None)
    return sorted(rows.values_list("machine__name", flat=True))


def wiped(cluster: Cluster) -> dict[str, str]:
    """The evidence that the machines step keeps."""
    facts = StepState.objects.get(cluster=cluster, name="machines").facts
    return dict(pair.split("=") for pair in facts.get("wiped", "").split(",") if pair)


def test_an_order_lives_and_leaves_nothing(site: Site, hosts: Metal3Subject, controller: FakeNetris) -> None:
    tenant = make_tenant()
    order = make_order(tenant, site, nodes=2)
    planned = {step["name"]: step for step in (order.plan or {})["steps"]}
    assert [one["action"] for one in planned["machines"]["changes"]] == ["change", "change"]
    assert planned["fabric"]["changes"][0]["text"].startswith("# and a gateway for each V-Net")
    assert (hosts.inventory(), controller.changes()) == ({}, [])  # a plan changes nothing

    cluster = approve(order).cluster
    assert cluster is not None
    cluster = reach(cluster, Phase.READY)
    first = held(cluster)
    (made,) = controller.controller.clusters
    assert sorted(one["name"] for one in made["servers"]) == first
    assert FabricPrefix.objects.get(cluster=cluster).prefix == "10.96.16.0/22"
    assert [hosts.state(name) for name in first] == ["provisioned", "provisioned"]

    approve(resize(cluster, train=3))
    cluster = reach(cluster, Phase.READY)
    (made,) = controller.controller.clusters
    assert sorted(one["name"] for one in made["servers"]) == held(cluster)
    assert len(held(cluster)) == 3

    resize(cluster, train=1)
    cluster = reach(cluster, Phase.READY)
    while len(held(cluster)) > 1:  # emptied, then given back, then free: each is a generation
        cluster = reach(cluster, Phase.READY)
    (made,) = controller.controller.clusters
    assert [one["name"] for one in made["servers"]] == held(cluster)
    freed = Machine.objects.filter(state=MachineState.FREE).values_list("name", flat=True)
    assert len(freed) == 3
    assert all(hosts.state(name) == "available" for name in freed)

    owner = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=owner, cluster=cluster, typed_name=cluster.name, at_once=True)
    last = held(cluster)
    cluster = reach(cluster, Phase.DELETED)
    held_by_controller = controller.controller
    assert (held_by_controller.clusters, held_by_controller.vpcs[1:], held_by_controller.ipam[1:]) == (
        [],
        [],
        [],
    )
    assert all("consumerRef" not in hosts.host(name)["spec"] for name in MACHINES)
    assert Machine.objects.filter(state=MachineState.FREE).count() == 4
    assert not FabricPrefix.objects.exists()
    for name in last:
        assert wiped(cluster)[name] == hosts.host(name)["status"]["operationHistory"]["deprovision"]["end"]
    assert clock.now() >= Machine.objects.get(name=last[0]).wiped_at  # type: ignore[operator]
