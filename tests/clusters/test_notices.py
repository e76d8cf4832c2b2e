"""Who ordered is told by mail what became of it; nobody else, and nothing that did not happen."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import transaction

from clusters.models import Cluster, Order
from clusters.provisioning import engine
from clusters.services.clusters import give_up, terminate_cluster
from clusters.services.decisions import approve_order, reject_order
from clusters.services.orders import cancel_order
from portal.lib.crypto import unseal
from tenants.models import Membership, OutboxMail, Tenant, User
from tests.builders import actor_for, make_tenant
from tests.clusters.builders import approve, approved_order, make_order, make_site, operator, owner_of, resize
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant("R&D lab")


@pytest.fixture
def order(tenant: Tenant, world: World) -> Order:
    return make_order(tenant, make_site())


def kinds() -> list[str]:
    return list(OutboxMail.objects.order_by("created_at", "kind").values_list("kind", flat=True))


def text() -> str:
    mail = OutboxMail.objects.latest("created_at")
    assert mail.sealed_body is not None
    return unseal(bytes(mail.sealed_body)).decode()


def test_approved_and_then_fulfilled(order: Order, tenant: Tenant) -> None:
    assert kinds() == []
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash, note="Welcome & enjoy <it>.")
    mail = OutboxMail.objects.get()
    assert (mail.to, mail.about_id) == (order.created_by.email, order.pk)
    assert mail.subject == "New cluster gpu-a of R&D lab: approved, under way"
    assert "Welcome & enjoy <it>." in text()
    assert f"{settings.PUBLIC_URL}/t/{tenant.slug}/orders/{order.pk}/" in text()
    assert order.cluster is not None
    engine.reconcile(order.cluster.pk)
    assert kinds() == ["order.approved", "order.fulfilled"]


def test_rejected_with_the_operators_note(order: Order) -> None:
    reject_order(actor=operator(), order=order, note="No room\nthis month.")
    assert kinds() == ["order.rejected"]
    assert "No room\nthis month." in text()


def test_failed(tenant: Tenant, world: World) -> None:
    order = approved_order(tenant, make_site())
    assert order.cluster is not None
    give_up(actor=operator(), cluster=order.cluster, note="The fabric is broken.")
    assert kinds() == ["order.approved", "order.failed"]
    assert "The fabric is broken." in text()


def test_what_people_do_themselves_is_not_told_but_its_end_is(tenant: Tenant, order: Order) -> None:
    acting = actor_for(owner_of(tenant), tenant)
    cancel_order(actor=acting, order=order)
    assert kinds() == []
    built = approved_order(tenant, name="gpu-b")
    assert built.cluster is not None
    engine.reconcile(built.cluster.pk)
    OutboxMail.objects.all().delete()
    cluster = Cluster.objects.get(pk=built.cluster.pk)
    terminate_cluster(actor=acting, cluster=cluster, typed_name=cluster.name, at_once=True)
    assert kinds() == []  # approved by policy
    engine.reconcile(cluster.pk)
    assert kinds() == ["order.fulfilled"]
    assert "The cluster gpu-b is removed, as you asked." in text()


@pytest.mark.parametrize("how", ["left", "suspended", "unverified"])
def test_who_is_out_is_told_nothing(tenant: Tenant, order: Order, how: str) -> None:
    person = order.created_by
    if how == "unverified":
        User.objects.filter(pk=person.pk).update(email_verified=False)
    else:
        column = "ended_at" if how == "left" else "suspended_at"
        Membership.objects.filter(user=person).update(**{column: tenant.created_at})
    order = Order.objects.select_related("tenant", "site", "created_by").get(pk=order.pk)
    approve_order(actor=operator(), order=order, plan_hash=order.plan_hash)
    assert kinds() == []


def test_a_decision_that_is_undone_is_not_told(order: Order) -> None:
    with pytest.raises(ValueError, match="no"), transaction.atomic():
        reject_order(actor=operator(), order=order, note="No.")
        raise ValueError("no")
    assert kinds() == []
    reject_order(actor=operator(), order=Order.objects.get(pk=order.pk), note="No.")
    assert kinds() == ["order.rejected"]


def test_of_a_change_they_speak_as_of_a_change(tenant: Tenant) -> None:
    order = approved_order(tenant, make_site(machines=6))
    assert order.cluster is not None
    engine.reconcile(order.cluster.pk)
    cluster = Cluster.objects.select_related("site", "tenant").get(pk=order.cluster.pk)
    approve(resize(cluster, train=3))
    assert "running jobs go on" in text()
    give_up(actor=operator(), cluster=cluster, note="Out of power.")
    assert kinds()[-2:] == ["order.approved", "order.failed"]
    assert "The cluster goes back to what it was." in text()
