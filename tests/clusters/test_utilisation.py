"""Samples of utilisation: at most one a minute, of usable nodes, and what the plots make of them."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters import utilisation
from clusters.models import Cluster, Node, Phase, SlurmEndpoint, UtilisationSample
from clusters.services.observation import note_seen
from clusters.services.utilisation import KEPT, prune
from portal.lib import clock
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_site, owner_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world")]
NOON = dt.datetime(2026, 5, 4, 12, 7, 31, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    make_site(machines=9)
    return make_cluster(tenant, phase=Phase.READY)


def see(cluster: Cluster, at: dt.datetime, *, running: int = 1) -> None:
    endpoint = SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster)
    note_seen(endpoint, seen_at=at, pending=2, running=running, source="list")


def add_node(cluster: Cluster, name: str, *, used: int, available: bool = True) -> None:
    Node.objects.create(
        cluster=cluster,
        name=name,
        state="MIXED",
        available=available,
        gpus=4,
        gpus_used=used,
        observed_at=clock.now(),
    )


def test_looks_of_one_minute_leave_one_sample(cluster: Cluster, tenant: Tenant) -> None:
    add_node(cluster, "n1", used=3)
    add_node(cluster, "n2", used=9)  # more than there are: counted as all
    add_node(cluster, "n3", used=4, available=False)
    add_node(make_cluster(tenant, name="other", phase=Phase.READY), "n1", used=4)
    for seconds in (0, 3, 20):
        see(cluster, NOON + dt.timedelta(seconds=seconds))
    see(cluster, NOON + MINUTE, running=5)
    first, second = UtilisationSample.objects.order_by("at")
    assert first.at == NOON.replace(second=0)
    assert (first.nodes, first.gpus, first.gpus_used, first.running, first.pending) == (2, 8, 7, 1, 2)
    assert second.running == 5


def test_a_cluster_without_nodes_leaves_zeros(cluster: Cluster) -> None:
    see(cluster, NOON)
    sample = UtilisationSample.objects.get()
    assert (sample.nodes, sample.gpus, sample.gpus_used) == (0, 0, 0)


def test_what_no_plot_looks_at_is_forgotten(cluster: Cluster) -> None:
    see(cluster, NOON - KEPT - MINUTE)
    see(cluster, NOON - KEPT + MINUTE)
    assert prune(NOON) == 1
    assert UtilisationSample.objects.get().at > NOON - KEPT


def test_plots_are_averages_with_holes_where_nobody_looked(
    cluster: Cluster, tenant: Tenant, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for minute, used in ((0, 2), (1, 4), (40, 8)):
        UtilisationSample.objects.create(
            cluster=cluster,
            at=NOON.replace(minute=minute, second=0),
            nodes=2,
            gpus=8,
            gpus_used=used,
            running=1,
            pending=0,
        )
    actor = actor_for(owner_of(tenant), tenant)
    with django_assert_num_queries(2):
        drawn = utilisation.plots(actor, cluster, now=NOON.replace(minute=55))
    assert len(drawn.day) == 145
    assert [point.gpus_used for point in drawn.day[-6:]] == [3.0, None, None, None, 8.0, None]
    assert len(drawn.month) == 30
    assert drawn.month[-1].gpus_used == 4.67
    (hour,) = drawn.hours
    assert (hour.at.minute, hour.gpus_used, hour.gpus) == (0, 5.5, 8.0)
    assert drawn.days == [drawn.month[-1]]
    stranger = make_tenant("Boreas")
    other = actor_for(owner_of(stranger), stranger)
    assert utilisation.plots(other, cluster, now=NOON).is_empty


def test_the_page_draws_and_tells_the_same(client: Client, cluster: Cluster, tenant: Tenant) -> None:
    sign_in(client, owner_of(tenant))
    url = f"/t/aurora-lab/clusters/{cluster.pk}/"
    assert "Nothing measured yet" in client.get(url).content.decode()
    see(cluster, clock.now())
    text = client.get(url).content.decode()
    assert "data-plots=" in text
    assert "GPUs busy" in text.partition("data-words=")[2][:200]
    assert "uPlot.iife.min.js" in text
    assert "<caption" in text
    assert "uPlot" not in client.get("/t/aurora-lab/clusters/").content.decode()
