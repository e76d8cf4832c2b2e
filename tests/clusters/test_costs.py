"""What nodes cost so far: from ready to removal, at the agreed price, to the cent."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from pytest_django import DjangoAssertNumQueries

from clusters.costs import Costs, costs, forecast, month_of
from clusters.models import Allocation, Cluster, Phase
from tenants.models import Tenant
from tests.builders import actor_for, make_tenant
from tests.clusters.builders import make_cluster, make_site, owner_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world")]
MAY = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)


def ready(tenant: Tenant, at: dt.datetime | None, *, nodes: int = 2, name: str = "gpu-a") -> Cluster:
    """A cluster at 12.50 per node and hour, whose nodes were taken an hour before it was ready."""
    cluster = make_cluster(tenant, name=name, nodes=nodes, phase=Phase.READY)
    Cluster.objects.filter(pk=cluster.pk).update(ready_at=at)
    Allocation.objects.filter(pool__cluster=cluster).update(allocated_at=(at or MAY) - HOUR)
    return cluster


def total(tenant: Tenant, until: dt.datetime, since: dt.datetime = MAY) -> Decimal:
    return costs(actor_for(owner_of(tenant), tenant), since=since, until=until).total


def test_nodes_cost_from_ready_on_and_only_within_the_span() -> None:
    make_site(machines=9)
    tenant = make_tenant()
    ready(tenant, MAY + 10 * HOUR)
    assert total(tenant, MAY + 5 * HOUR) == 0
    assert total(tenant, MAY + 14 * HOUR) == Decimal("100.00")  # 2 nodes, 4 hours
    assert total(tenant, MAY + 14 * HOUR, since=MAY + 13 * HOUR) == Decimal("25.00")
    assert total(tenant, MAY + 10 * HOUR + dt.timedelta(minutes=1)) == Decimal("0.42")  # 0.41666..


def test_what_was_given_back_or_removed_or_never_ready_costs_no_more() -> None:
    make_site(machines=9)
    tenant = make_tenant()
    shrunk = ready(tenant, MAY, name="shrunk")
    one = Allocation.objects.filter(pool__cluster=shrunk).order_by("pk")[0]
    Allocation.objects.filter(pk=one.pk).update(released_at=MAY + 2 * HOUR)
    assert total(tenant, MAY + 4 * HOUR) == Decimal("75.00")  # 2 + 4 node hours
    Cluster.objects.filter(pk=shrunk.pk).update(deleted_at=MAY + 3 * HOUR)
    assert total(tenant, MAY + 4 * HOUR) == Decimal("62.50")
    ready(tenant, None, name="failed")
    assert total(tenant, MAY + 4 * HOUR) == Decimal("62.50")


def test_a_node_that_came_later_costs_from_when_it_was_taken() -> None:
    make_site(machines=9)
    tenant = make_tenant()
    grown = ready(tenant, MAY, nodes=2)
    late = Allocation.objects.filter(pool__cluster=grown).order_by("pk")[0]
    Allocation.objects.filter(pk=late.pk).update(allocated_at=MAY + 3 * HOUR)
    assert total(tenant, MAY + 4 * HOUR) == Decimal("62.50")


def test_each_tenant_pays_its_own_in_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make_site(machines=9)
    mine, other = make_tenant("Mine"), make_tenant("Other")
    first, second = ready(mine, MAY, name="a"), ready(mine, MAY, nodes=1, name="b")
    ready(other, MAY, nodes=3)
    actor = actor_for(owner_of(mine), mine)
    with django_assert_num_queries(1):
        found = costs(actor, since=MAY, until=MAY + HOUR)
    assert found.by_cluster == {first.pk: Decimal("25.00"), second.pk: Decimal("12.50")}


def test_the_forecast_ends_with_the_month() -> None:
    begin, end = month_of(dt.datetime(2028, 2, 29, 23, 30, tzinfo=dt.UTC))
    assert (begin.isoformat(), end.isoformat()) == ("2028-02-01T00:00:00+00:00", "2028-03-01T00:00:00+00:00")
    so_far = Costs(begin, end - 10 * HOUR)
    assert forecast(so_far, Decimal("25.00")) == Decimal("250.00")
