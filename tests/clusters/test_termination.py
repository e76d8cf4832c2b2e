"""The end of a cluster: typed, scheduled, called off, due."""

from __future__ import annotations

import datetime as dt

import pytest
import time_machine
from django.test import Client

from clusters import tasks
from clusters.models import Cluster, Order, OrderKind, OrderState, Phase
from clusters.provisioning import engine
from clusters.services.clusters import give_up, terminate_cluster
from clusters.services.orders import cancel_order
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.models import AuditEvent, Role, Tenant
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.clusters.builders import make_cluster, make_order, make_site, operator, owner_of
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(tenant: Tenant, world: World) -> Cluster:
    found = make_cluster(tenant, make_site())
    engine.reconcile(found.pk)
    return Cluster.objects.get(pk=found.pk)


def end(cluster: Cluster, *, at_once: bool = False, name: str | None = None) -> Order:
    actor = actor_for(owner_of(cluster.tenant), cluster.tenant)
    typed = cluster.name if name is None else name
    return terminate_cluster(actor=actor, cluster=cluster, typed_name=typed, at_once=at_once)


def fresh(cluster: Cluster) -> Cluster:
    return Cluster.objects.get(pk=cluster.pk)


def test_the_name_must_be_typed(cluster: Cluster) -> None:
    for typed in ("", "gpu", cluster.name + "x"):
        with pytest.raises(BadInput):
            end(cluster, name=typed)
    assert fresh(cluster).terminate_at is None
    assert end(cluster, name=f" {cluster.name} ").state == OrderState.APPROVED


def test_only_owners(cluster: Cluster) -> None:
    admin = actor_for(make_member(cluster.tenant, Role.ADMIN), cluster.tenant)
    with pytest.raises(NotAllowed):
        terminate_cluster(actor=admin, cluster=cluster, typed_name=cluster.name)


def test_it_is_scheduled_and_happens_when_due(cluster: Cluster, world: World) -> None:
    order = end(cluster)
    assert (order.kind, order.state) == (OrderKind.TERMINATE, OrderState.APPROVED)
    with pytest.raises(WrongState, match="already"):
        end(cluster)
    tasks.reconcile_due()
    assert fresh(cluster).wanted
    engine.reconcile(cluster.pk)
    assert world.calls("remove") == []
    with time_machine.travel(clock.now() + dt.timedelta(hours=24, minutes=1)):
        tasks.reconcile_due()
        assert not fresh(cluster).wanted
        engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.DELETED
    assert Order.objects.get(pk=order.pk).state == OrderState.FULFILLED
    assert AuditEvent.objects.get(verb="cluster.removal_began").actor_kind == "system"


def test_it_can_be_called_off(cluster: Cluster) -> None:
    order = end(cluster)
    actor = actor_for(owner_of(cluster.tenant), cluster.tenant)
    cancel_order(actor=actor, order=order)
    assert fresh(cluster).terminate_at is None
    with time_machine.travel(clock.now() + dt.timedelta(days=2)):
        tasks.reconcile_due()
    assert fresh(cluster).wanted
    assert end(cluster).pk != order.pk


def test_it_cannot_be_called_off_once_it_began(cluster: Cluster) -> None:
    order = end(cluster)
    assert end(cluster, at_once=True).pk == order.pk
    with pytest.raises(WrongState, match="has begun"):
        cancel_order(actor=actor_for(owner_of(cluster.tenant), cluster.tenant), order=order)
    assert not fresh(cluster).wanted
    with pytest.raises(WrongState, match="being removed"):
        end(cluster)


@case("U38")
def test_what_was_given_up_can_be_removed_by_its_owner(tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    give_up(actor=operator(), cluster=cluster, note="Broken.")
    assert world.things() != []
    end(cluster)  # at once: there is nothing that a grace could save
    engine.reconcile(cluster.pk)
    assert world.things() == []
    assert fresh(cluster).phase == Phase.DELETED


def test_ending_a_build_cancels_its_order(tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", slow=1000)
    engine.reconcile(cluster.pk)
    end(cluster)
    assert Order.objects.get(cluster=cluster, kind=OrderKind.CREATE).state == OrderState.CANCELLED
    engine.reconcile(cluster.pk)
    assert fresh(cluster).phase == Phase.DELETED


def test_who_ended_the_cluster_reads_that_and_not_that_the_order_was_cancelled(
    tenant: Tenant, world: World, client: Client
) -> None:
    ended = make_cluster(tenant, make_site())
    world.set("slurm", slow=1000)
    engine.reconcile(ended.pk)
    end(ended)
    cancelled = make_order(tenant, ended.site, name="other")
    cancel_order(actor=actor_for(owner_of(tenant), tenant), order=cancelled)
    browser = sign_in(client, owner_of(tenant))
    order = Order.objects.get(cluster=ended, kind=OrderKind.CREATE)
    assert "Ended with the cluster" in browser.get(f"/t/{tenant.slug}/orders/{order.pk}/").content.decode()
    assert (
        "Ended with the cluster"
        not in browser.get(f"/t/{tenant.slug}/orders/{cancelled.pk}/").content.decode()
    )
    listed = browser.get(f"/t/{tenant.slug}/orders/").content.decode()
    assert listed.count("Ended with the cluster") == 1
    assert listed.count("Cancelled") == 1
    assert "the whole cluster" in listed
