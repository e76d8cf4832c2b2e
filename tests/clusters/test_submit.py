"""Submitting an order: price, names, quota, bounds, one-time key."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal

import pytest

from clusters.models import Offering, Order, OrderState, Quota, Site
from clusters.services.order_checks import OrderRequest, PoolRequest
from clusters.services.orders import cancel_order, submit_order
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.live.topics import Topic, version_of
from tenants.models import AuditEvent, Role, Tenant
from tests.builders import actor_for, make_member, make_tenant
from tests.cases import case
from tests.clusters.builders import add_machines, make_cluster, make_flavor, make_site, owner_of, request_for
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Site:
    return make_site()


def submit(tenant: Tenant, request: OrderRequest, key: uuid.UUID | None = None) -> Order:
    return submit_order(actor=actor_for(owner_of(tenant), tenant), key=key or uuid.uuid4(), request=request)


def refused(tenant: Tenant, request: OrderRequest) -> dict[str, str]:
    with pytest.raises(BadInput) as error:
        submit(tenant, request)
    assert not Order.objects.exists()
    return error.value.fields


def test_it_keeps_the_price_of_this_moment(tenant: Tenant, site: Site) -> None:
    order = submit(tenant, request_for(site, nodes=3))
    Offering.objects.update(price_per_hour=Decimal("99.00"))
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED
    assert order.price_per_hour == Decimal("37.50")
    assert order.lines.get().price_per_hour == Decimal("12.50")
    assert AuditEvent.objects.get(verb="order.submitted").tenant == tenant
    assert version_of(Topic(tenant.pk, "order", order.pk)) == 1


def test_the_same_form_gives_the_same_order(tenant: Tenant, site: Site) -> None:
    key = uuid.uuid4()
    first = submit(tenant, request_for(site), key)
    again = submit(tenant, request_for(site), key)
    assert first.pk == again.pk
    assert Order.objects.count() == 1
    assert AuditEvent.objects.filter(verb="order.submitted").count() == 1


def test_a_key_of_someone_elses_form_gives_nothing_away(tenant: Tenant, site: Site) -> None:
    key = uuid.uuid4()
    submit(tenant, request_for(site), key)
    other = make_tenant("Other Lab")
    with pytest.raises(WrongState, match="already used"):
        submit(other, request_for(site), key)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_only_owners_and_admins_order(tenant: Tenant, site: Site, role: Role) -> None:
    person = make_member(tenant, role)
    with pytest.raises(NotAllowed):
        submit_order(actor=actor_for(person, tenant), key=uuid.uuid4(), request=request_for(site))
    admin = make_member(tenant, Role.ADMIN)
    assert (
        submit_order(actor=actor_for(admin, tenant), key=uuid.uuid4(), request=request_for(site)).state
        == OrderState.SUBMITTED
    )


@case("U40")
def test_names_are_mapped_and_never_meet(tenant: Tenant, site: Site, world: World) -> None:
    order = submit(tenant, request_for(site, name="Team A", pool="Ünï"))
    assert (order.cluster_name, order.lines.get().pool) == ("team-a", "uni")
    with pytest.raises(BadInput) as error:
        submit(tenant, request_for(site, name="team-a"))
    assert "already have" in error.value.fields["name"]
    # the same name in two tenants does not meet
    other = submit(make_tenant("Other Lab"), request_for(site, name="team-a"))
    assert other.future_cluster_id != order.future_cluster_id


@case("U40")
def test_bad_names_are_refused_beside_their_field(tenant: Tenant, site: Site) -> None:
    request = request_for(site, name="DEFAULT", pool="train\nSchedulerType=x")
    assert set(refused(tenant, request)) == {"name", "pools.0.name"}


def test_two_pools_cannot_share_a_name(tenant: Tenant, site: Site) -> None:
    request = request_for(site, pool="Team A", nodes=1)
    twice = replace(request, pools=(*request.pools, replace(request.pools[0], name="team-a")))
    assert set(refused(tenant, twice)) == {"pools.1.name"}


@pytest.mark.parametrize("count", [0, -1, 65])
def test_a_pool_has_bounds(tenant: Tenant, site: Site, count: int) -> None:
    assert refused(tenant, request_for(site, nodes=count)) == {"pools.0.count": "1 to 64 nodes."}


def test_an_order_needs_a_pool(tenant: Tenant, site: Site) -> None:
    assert set(refused(tenant, replace(request_for(site), pools=()))) == {"pools"}


def test_the_justification_has_a_bound(tenant: Tenant, site: Site) -> None:
    assert set(refused(tenant, replace(request_for(site), justification="x" * 2001))) == {"justification"}
    assert submit(tenant, replace(request_for(site), justification="x" * 2000)).justification


def test_only_what_is_offered_there(tenant: Tenant, site: Site) -> None:
    south = make_site("Site South", flavor=make_flavor("h100-8", gpus=8))
    foreign = replace(request_for(site), pools=request_for(south).pools)
    assert set(refused(tenant, foreign)) == {"pools.0.offering"}
    Site.objects.filter(pk=site.pk).update(active=False)
    site.refresh_from_db()
    assert set(refused(tenant, request_for(site))) == {"site"}


def test_more_than_the_site_has_can_never_be_given(tenant: Tenant, site: Site) -> None:
    assert "4 nodes of a100-4 in all" in refused(tenant, request_for(site, nodes=5))["pools.0.count"]


def test_quota_counts_what_is_held_and_what_waits(tenant: Tenant, world: World) -> None:
    site = make_site(machines=8)
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=4)
    make_cluster(tenant, site, name="held", nodes=2)
    submit(tenant, request_for(site, name="waits", nodes=1))
    with pytest.raises(BadInput) as error:
        submit(tenant, request_for(site, name="too-much", nodes=2))
    assert error.value.fields == {"pools.0.count": "Your quota allows 4 nodes of a100-4; left: 1."}
    assert submit(tenant, request_for(site, name="fits", nodes=1)).state == OrderState.SUBMITTED
    # another tenant has no such limit
    assert submit(make_tenant("Other Lab"), request_for(site, nodes=4)).state == OrderState.SUBMITTED


def test_pools_of_one_flavor_are_counted_together(tenant: Tenant, site: Site) -> None:
    offering = add_machines(site, make_flavor("h100-8", gpus=8), 2)
    pools = (PoolRequest("a", offering, 2), PoolRequest("b", offering, 1))
    assert set(refused(tenant, replace(request_for(site), pools=pools))) == {"pools.0.count", "pools.1.count"}


@case("U36")
def test_cancel_before_the_decision(tenant: Tenant, site: Site) -> None:
    order = submit(tenant, request_for(site))
    actor = actor_for(owner_of(tenant), tenant)
    cancel_order(actor=actor, order=order)
    assert Order.objects.get(pk=order.pk).state == OrderState.CANCELLED
    with pytest.raises(WrongState, match="cancelled"):
        cancel_order(actor=actor, order=order)
    assert AuditEvent.objects.filter(verb="order.cancelled").count() == 1
    assert submit(tenant, request_for(site)).state == OrderState.SUBMITTED  # the name is free again
