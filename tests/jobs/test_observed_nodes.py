"""Nodes as the observer keeps them."""

from __future__ import annotations

import pytest
from django.db import transaction

from clusters.clients.slurmrest.gres import Gpus
from clusters.clients.slurmrest.models import NodeRecord
from clusters.models import Cluster, Node
from clusters.services.observation import save_nodes
from jobs.selectors import queue_figures
from portal.lib import clock
from tenants.models import Role
from tests.builders import make_member, make_tenant
from tests.cases import case
from tests.jobs.builders import make_slurm_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    tenant = make_tenant("Aurora Lab")
    make_member(tenant, Role.MEMBER)
    return make_slurm_cluster(tenant)


def node(name: str, state: str = "IDLE", *, flags: tuple[str, ...] = (), used: int = 0) -> NodeRecord:
    return NodeRecord(
        name=name,
        state=state,
        flags=frozenset(flags),
        partitions=("train",),
        cpus=8,
        memory=32768,
        gpus=Gpus(8),
        gpus_allocated=Gpus(used),
    )


def save(cluster: Cluster, *records: NodeRecord) -> bool:
    with transaction.atomic():
        return save_nodes(cluster, records, seen_at=clock.now())


@case("U20")
def test_gpus_of_down_and_drained_nodes_are_installed_but_not_available(cluster: Cluster) -> None:
    save(cluster, node("a", used=3), node("b", "DOWN"), node("c", flags=("DRAIN",), used=2))
    assert dict(Node.objects.values_list("name", "gpus")) == {"a": 8, "b": 8, "c": 8}
    figures = queue_figures(cluster, cluster.slurm)
    assert (figures.gpus_used, figures.gpus_all, figures.nodes_up, figures.nodes_all) == (3, 8, 1, 3)
    assert Node.objects.get(name="c").state == "IDLE+DRAIN"


def test_a_complete_listing_adds_changes_and_removes(cluster: Cluster) -> None:
    assert save(cluster, node("a"), node("b"))
    assert not save(cluster, node("a"), node("b")), "nothing changed"
    assert save(cluster, node("a", "ALLOCATED", used=8), node("c"))
    assert sorted(Node.objects.values_list("name", "gpus_used")) == [("a", 8), ("c", 0)]
