"""Several connections at once on a real PostgreSQL: one approval wins, capacity is never oversold."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from clusters.models import (
    Allocation,
    Cluster,
    DesiredPools,
    Machine,
    MachineState,
    Order,
    OrderKind,
    OrderState,
    PortBlock,
)
from clusters.provisioning import engine
from clusters.provisioning.lease import claim
from clusters.provisioning.plan import make_plan
from clusters.services.decisions import approve_order
from clusters.services.orders import cancel_order, submit_order
from portal.lib.errors import WrongState
from tenants.models import AuditEvent
from tests.builders import actor_for, make_tenant
from tests.cases import case
from tests.clusters.builders import (
    approved_order,
    make_cluster,
    make_order,
    make_site,
    operator,
    owner_of,
    request_for,
    resize,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("world"),
    pytest.mark.matrix,
]


def at_once(acts: list[Callable[[], object]]) -> list[object]:
    """Run all at the same moment, each on a connection of its own; results, or the WrongState raised."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> object:
        try:
            barrier.wait(timeout=60)
            return act()
        except WrongState as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def refusals(results: list[object]) -> int:
    return sum(isinstance(result, WrongState) for result in results)


@case("U36")
def test_of_many_approvals_of_one_order_one_wins() -> None:
    order = make_order(make_tenant(), make_site())
    actor = operator()

    def approve() -> object:
        mine = Order.objects.get(pk=order.pk)
        return approve_order(actor=actor, order=mine, plan_hash=mine.plan_hash)

    results = at_once([approve] * 6)
    assert refusals(results) == 5
    assert Cluster.objects.count() == 1
    assert Allocation.objects.count() == 2
    assert AuditEvent.objects.filter(verb="order.approved").count() == 1


@case("U36")
def test_approve_or_cancel_but_never_both() -> None:
    site = make_site(machines=12)
    tenant = make_tenant()
    actor, owner = operator(), actor_for(owner_of(tenant), tenant)
    for number in range(4):
        order = make_order(tenant, site, name=f"gpu-{number}x", nodes=1)

        def approve(order: Order = order) -> object:
            mine = Order.objects.get(pk=order.pk)
            return approve_order(actor=actor, order=mine, plan_hash=mine.plan_hash)

        def cancel(order: Order = order) -> object:
            return cancel_order(actor=owner, order=Order.objects.get(pk=order.pk))

        at_once([approve, cancel])
        order.refresh_from_db()
        # cancelled after the approval is fine too: then the cluster is on its way out
        if order.state == OrderState.CANCELLED:
            assert not Cluster.objects.filter(orders=order, wanted=True).exists()
        else:
            assert (order.state, order.cluster is not None) == (OrderState.APPROVED, True)


def test_capacity_is_never_oversold() -> None:
    site = make_site(machines=5)
    actor = operator()
    orders = [make_order(make_tenant(f"Lab {n}"), site, name="gpu", nodes=2, planned=False) for n in range(6)]
    for _ in range(6):  # as the worker does: a plan for whoever waits, then the operator decides on all
        waiting = [order for order in Order.objects.filter(state=OrderState.SUBMITTED) if order in orders]

        def plan_and_approve(key: uuid.UUID) -> object:
            make_plan(str(key))
            mine = Order.objects.get(pk=key)
            return approve_order(actor=actor, order=mine, plan_hash=mine.plan_hash)

        at_once([lambda key=order.pk: plan_and_approve(key) for order in waiting])  # type: ignore[misc]
    assert Order.objects.filter(state=OrderState.APPROVED).count() == 2
    live = Allocation.objects.filter(released_at=None)
    assert live.count() == live.values("machine").distinct().count() == 4
    assert Machine.objects.filter(state=MachineState.FREE).count() == 1
    bases = list(PortBlock.objects.values_list("base", flat=True))
    assert len(bases) == len(set(bases))


def test_one_form_sent_by_many_at_once_is_one_order() -> None:
    tenant, site = make_tenant(), make_site()
    actor, key = actor_for(owner_of(tenant), tenant), uuid.uuid4()
    results = at_once([lambda: submit_order(actor=actor, key=key, request=request_for(site))] * 5)
    assert {order.pk for order in results if isinstance(order, Order)} == {Order.objects.get().pk}
    assert refusals(results) == 0


def test_of_many_changes_of_one_cluster_one_is_taken() -> None:
    cluster = ready_cluster()
    acts: list[Callable[[], object]] = [lambda: resize(cluster, train=1)] * 3
    acts += [lambda: resize(cluster, train=3)] * 3
    results = at_once(acts)
    assert refusals(results) == 5
    assert Order.objects.filter(kind=OrderKind.RESIZE).count() == 1


@case("U36")
def test_of_many_approvals_of_a_change_one_wins() -> None:
    cluster = ready_cluster()
    order = resize(cluster, train=4)
    actor = operator()

    def approve() -> object:
        mine = Order.objects.get(pk=order.pk)
        return approve_order(actor=actor, order=mine, plan_hash=mine.plan_hash)

    assert refusals(at_once([approve] * 5)) == 4
    assert Allocation.objects.filter(released_at=None).count() == 4
    assert DesiredPools.objects.filter(order=order).count() == 1


@case("U36")
def test_a_change_is_fulfilled_or_cancelled_but_never_both() -> None:
    cluster = ready_cluster()
    owner = actor_for(owner_of(cluster.tenant), cluster.tenant)
    for count in (3, 4, 5):
        order = resize(cluster, train=count)
        order = approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)

        def cancel(order: Order = order) -> object:
            return cancel_order(actor=owner, order=Order.objects.get(pk=order.pk))

        at_once([cancel, lambda: engine.reconcile(cluster.pk)])
        for _ in range(3):
            engine.reconcile(cluster.pk)
        order.refresh_from_db()
        nodes = cluster.pools.get().count
        held = Allocation.objects.filter(pool__cluster=cluster, released_at=None).count()
        assert held == nodes
        if order.state == OrderState.FULFILLED:
            assert nodes == count
        else:
            assert (order.state, nodes < count) == (OrderState.CANCELLED, True)


def ready_cluster() -> Cluster:
    cluster = make_cluster(make_tenant(), make_site(machines=6))
    engine.reconcile(cluster.pk)
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


@case("U38")
def test_one_of_many_workers_gets_the_lease() -> None:
    order = approved_order(make_tenant(), make_site())
    leases = at_once([lambda: claim(order.cluster_id)] * 6)  # type: ignore[arg-type]
    assert sum(lease is not None for lease in leases) == 1
