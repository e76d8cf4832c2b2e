"""Where the outside picks machines, steps are told how many; elsewhere, which."""

from __future__ import annotations

from decimal import Decimal

import pytest

from clusters.models import Cluster, NodePool
from clusters.provisioning.context import cluster_spec
from tests.builders import make_tenant
from tests.clusters.builders import make_flavor, make_site


@pytest.mark.django_db
@pytest.mark.parametrize(("driver", "counts"), [("vcluster_nodes", [3]), ("metal3", [])])
def test_a_pool_without_machines_is_told_where_the_outside_picks(driver: str, counts: list[int]) -> None:
    site = make_site(driver=driver, machines=0)
    cluster = Cluster.objects.create(tenant=make_tenant("Team A"), site=site, name="c")
    for name, count in (("train", 3), ("gone", 0)):
        NodePool.objects.create(
            cluster=cluster, name=name, flavor=make_flavor(), count=count, price_per_hour=Decimal(1)
        )
    assert [pool.count for pool in cluster_spec(cluster).pools] == counts
