"""What stands around a cluster: servers of other tenants only, machines of every other cluster."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from clusters.clients.kube.models import Access
from clusters.drivers.isolation import Around
from clusters.kube import tenant
from clusters.models import Cluster, ClusterSecret, Phase, SlurmEndpoint, StepState, StepStatus
from clusters.provisioning.context import cluster_spec
from clusters.services import secrets
from clusters.services.neighbours import around
from portal.lib import clock
from tests.builders import make_tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.fakes import World
from tests.clusters.kubes import CA

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters(world: World) -> tuple[Cluster, Cluster, Cluster]:
    """One, its sister of the same tenant, and a stranger; another tenant's stands at another site."""
    site, mine = make_site(machines=6), make_tenant("Aurora")
    one = make_cluster(mine, site, phase=Phase.READY)
    sister = make_cluster(mine, site, name="gpu-b", nodes=1, phase=Phase.READY)
    stranger = make_cluster(make_tenant("Boreas"), site, nodes=1, phase=Phase.READY)
    make_cluster(make_tenant("Cirrus"), make_site("Site South"), phase=Phase.READY)
    secrets.keep(stranger, tenant.KEPT_AS, tenant.pack(Access("https://127.0.0.1:6443", CA)), None)
    return one, sister, stranger


def look(cluster: Cluster) -> Around:
    """As the step would."""
    return around(cluster_spec(cluster))


def test_servers_are_tried_of_other_tenants_only(clusters: tuple[Cluster, Cluster, Cluster]) -> None:
    one, _sister, stranger = clusters
    (found,) = look(one).neighbours
    assert found.name == stranger.external_name
    assert found.access is not None
    assert found.slurm is not None
    assert found.slurm.account.startswith("fh")
    assert {seen.name for seen in look(stranger).neighbours} == {
        cluster.external_name for cluster in clusters[:2]
    }
    for secret in (found.slurm.key.hex(), CA.decode()):
        assert secret not in repr(look(one))
    # a seal that does not open, or no server: nothing to try there, and no trouble here
    ClusterSecret.objects.update(sealed=b"broken")
    SlurmEndpoint.objects.filter(cluster=stranger).update(url="")
    assert look(one).neighbours == ()
    Cluster.objects.filter(pk=stranger.pk).update(wanted=False)
    assert look(one).neighbours == ()


def test_machines_are_looked_for_at_every_other_cluster(clusters: tuple[Cluster, Cluster, Cluster]) -> None:
    one, sister, stranger = clusters
    found = look(one)
    assert set(found.elsewhere.values()) == {sister.external_name, stranger.external_name}
    assert len(found.elsewhere) == 2
    assert len(found.inventory) == 6
    step = StepState.objects.create(
        cluster=stranger, name="fabric", position=1, component="Netris", facts={"servers": "gpu-8,gpu-9"}
    )
    nodes = StepState.objects.create(
        cluster=stranger, name="nodes", position=2, component="Kubernetes", facts={"nodes": "gpu-7"}
    )
    assert look(one).elsewhere["gpu-8"] == stranger.external_name
    assert nodes.facts["nodes"] not in look(one).elsewhere  # a tenant could write any name there
    StepState.objects.filter(pk=step.pk).update(status=StepStatus.GONE)
    assert "gpu-8" not in look(one).elsewhere
    Cluster.objects.filter(pk=stranger.pk).update(wanted=False)
    assert stranger.external_name in look(one).elsewhere.values()  # it holds them to the end
    Cluster.objects.filter(pk=stranger.pk).update(deleted_at=clock.now())
    assert stranger.external_name not in look(one).elsewhere.values()


def test_it_costs_the_same_however_many_there_are(
    clusters: tuple[Cluster, Cluster, Cluster], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    spec = cluster_spec(clusters[0])
    with django_assert_num_queries(8):
        around(spec)
    make_cluster(make_tenant("Dune"), clusters[0].site, nodes=1, phase=Phase.READY)
    with django_assert_num_queries(8):
        around(spec)
