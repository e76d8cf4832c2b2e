"""Blocks of ports and unix ids: never the same twice, never one that something else uses."""

from __future__ import annotations

import socket

import pytest
from pytest_django.fixtures import Settings

from clusters.models import Cluster, Phase, PortBlock, StepState
from clusters.provisioning import engine
from clusters.services.unix_ids import PORTS_PER_CLUSTER, give_ports, next_unix_id
from portal.lib.errors import WrongState
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


def test_a_block_in_which_something_listens_is_passed_over(settings: Settings) -> None:
    cluster = make_cluster(make_tenant())
    PortBlock.objects.filter(cluster=cluster).delete()
    base = give_ports(cluster).base  # quiet at the moment, and below the ports of outgoing connections
    PortBlock.objects.filter(cluster=cluster).delete()
    settings.LOCAL_PORTS = f"{base}-{base + PORTS_PER_CLUSTER - 1}"
    with socket.create_server(("127.0.0.1", base + 1)), pytest.raises(WrongState, match="in use"):
        give_ports(cluster)
    assert give_ports(cluster).base == base


def test_ports_that_were_taken_before_anything_ran_are_changed_for_others(world: World) -> None:
    cluster = make_cluster(make_tenant(), make_site())
    PortBlock.objects.update_or_create(cluster=cluster, defaults={"base": 1})
    world.set("slurm", fail="port", on="apply")
    engine.reconcile(cluster.pk)
    assert StepState.objects.get(cluster=cluster, name="slurm").reason == "PortInUse"
    other = PortBlock.objects.get(cluster=cluster).base
    assert other != 1
    world.set("slurm")
    Cluster.objects.update(lease_until=None)
    engine.reconcile(cluster.pk)
    assert Cluster.objects.get(pk=cluster.pk).phase == Phase.READY
    # from now on its address is known: what takes the port then is for a person
    world.set("slurm", fail="port", on="observe")
    engine.reconcile(cluster.pk)
    assert StepState.objects.get(cluster=cluster, name="slurm").reason == "PortInUse"
    assert PortBlock.objects.get(cluster=cluster).base == other


def test_where_no_other_block_is_left_the_cluster_keeps_its_own(world: World, settings: Settings) -> None:
    cluster = make_cluster(make_tenant(), make_site())
    PortBlock.objects.update_or_create(cluster=cluster, defaults={"base": 1})
    settings.LOCAL_PORTS = "1-50"  # no whole block
    world.set("slurm", fail="port", on="apply")
    engine.reconcile(cluster.pk)
    assert PortBlock.objects.get(cluster=cluster).base == 1


def test_an_id_is_never_given_out_twice() -> None:
    given = [next_unix_id() for _ in range(5)]
    assert len(set(given)) == len(given)
