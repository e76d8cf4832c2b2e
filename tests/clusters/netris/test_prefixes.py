"""No two clusters of a site ever have the same addresses."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from ipaddress import IPv4Network
from types import MappingProxyType

import pytest
from django.db import IntegrityError, connection, transaction

from clusters.models import Cluster, FabricPrefix, Site
from clusters.provisioning.context import cluster_spec, step_context
from clusters.services.prefixes import first_free, give_prefix, take_back
from portal.lib.errors import PermanentError
from tests.builders import make_tenant
from tests.clusters.builders import make_site

POOL = {"pool": "10.96.0.0/20", "length": 22}  # room for four


def make_clusters(site: Site, count: int) -> list[Cluster]:
    """Rows only: nothing is built."""
    tenant = make_tenant(f"Team {site.name}")
    return [Cluster.objects.create(tenant=tenant, site=site, name=f"c{number}") for number in range(count)]


def pooled_site(name: str = "Site North", pool: Mapping[str, object] = MappingProxyType({})) -> Site:
    """A site with a pool of addresses."""
    site = make_site(name)
    site.settings = {"fabric": {**POOL, **pool}}
    site.save()
    return site


@pytest.mark.parametrize(
    ("used", "found"),
    [
        ([], "10.96.0.0/22"),
        (["10.96.0.0/22"], "10.96.4.0/22"),
        (["10.96.4.0/22"], "10.96.0.0/22"),
        (["10.96.0.0/22", "10.96.8.0/22"], "10.96.4.0/22"),
        (["10.96.1.0/24", "10.96.5.128/30"], "10.96.8.0/22"),  # of another length: an older setting
        (["10.96.0.0/21", "10.96.0.0/22"], "10.96.8.0/22"),
        (["10.0.0.0/24", "10.97.0.0/16"], "10.96.0.0/22"),
        (["10.96.0.0/20"], None),
    ],
)
def test_the_lowest_free_prefix_is_taken(used: list[str], found: str | None) -> None:
    given = first_free(IPv4Network("10.96.0.0/20"), 22, map(IPv4Network, used))
    assert given == (None if found is None else IPv4Network(found))


@pytest.mark.django_db
def test_each_cluster_gets_its_own_and_keeps_it() -> None:
    clusters = make_clusters(pooled_site(), 4)
    given = [give_prefix(cluster) for cluster in clusters]
    assert given == ["10.96.0.0/22", "10.96.4.0/22", "10.96.8.0/22", "10.96.12.0/22"]
    assert [give_prefix(cluster) for cluster in clusters] == given
    fifth = Cluster.objects.create(tenant=clusters[0].tenant, site=clusters[0].site, name="fifth")
    with pytest.raises(PermanentError) as refused:
        give_prefix(fifth)
    assert refused.value.reason == "PrefixesExhausted"
    take_back(clusters[1])
    assert give_prefix(fifth) == "10.96.4.0/22"


@pytest.mark.django_db
def test_the_database_itself_refuses_an_overlap_at_one_site_only() -> None:
    here, there = pooled_site(), pooled_site("Site South")
    first, second = make_clusters(here, 2)
    (other,) = make_clusters(there, 1)
    FabricPrefix.objects.create(site=here, cluster=first, prefix="10.96.0.0/22")
    with pytest.raises(IntegrityError), transaction.atomic():
        FabricPrefix.objects.create(site=here, cluster=second, prefix="10.96.1.0/24")
    FabricPrefix.objects.create(site=there, cluster=other, prefix="10.96.1.0/24")
    FabricPrefix.objects.create(site=here, cluster=second, prefix="10.96.4.0/24")


@pytest.mark.django_db
def test_steps_are_told_the_prefix() -> None:
    (cluster,) = make_clusters(pooled_site(), 1)
    assert cluster_spec(cluster).prefix == ""  # a look at the rows gives nothing out
    assert step_context(cluster).spec.prefix == "10.96.0.0/22"
    assert cluster_spec(cluster).prefix == "10.96.0.0/22"


@pytest.mark.django_db
def test_who_goes_or_needs_none_is_given_none() -> None:
    going, plain = make_clusters(pooled_site(), 1) + make_clusters(make_site("Site South"), 1)
    going.wanted = False
    assert give_prefix(going) == ""
    assert give_prefix(plain) == ""
    assert not FabricPrefix.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "pool",
    [{"pool": "10.96.0.1/20"}, {"pool": None}, {"pool": "0.0.0.0/0"}, {"length": 19}, {"length": "x"}],
)
def test_a_pool_that_is_none_is_named(pool: dict[str, object]) -> None:
    (cluster,) = make_clusters(pooled_site(pool=pool), 1)
    with pytest.raises(PermanentError) as refused:
        give_prefix(cluster)
    assert refused.value.reason == "BadSiteSettings"
    assert "fabric" in refused.value.message


@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_different_ones() -> None:
    clusters = make_clusters(pooled_site(), 4)
    start = threading.Barrier(len(clusters))

    def give(cluster: Cluster) -> None:
        try:
            start.wait(20)
            give_prefix(cluster)
        finally:
            connection.close()

    threads = [threading.Thread(target=give, args=(cluster,)) for cluster in clusters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(set(FabricPrefix.objects.values_list("prefix", flat=True))) == 4
