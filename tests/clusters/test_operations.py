"""The operators' pages: queue, review, decisions, fleet, verbs."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters import demo
from clusters.models import Cluster, Flavor, Machine, MachineState, Order, OrderState, Phase
from clusters.provisioning import engine
from clusters.provisioning.plan import make_plan
from tenants.models import AuditEvent, Role, Tenant
from tests.builders import make_member, make_tenant, make_user, sign_in
from tests.cases import case
from tests.clusters.builders import make_cluster, make_order, make_site, operator
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world"), pytest.mark.matrix]
QUEUE = "/operations/clusters/order/"
FLEET = "/operations/clusters/cluster/"


@pytest.fixture
def order(tenant: Tenant, world: World) -> Order:
    return make_order(tenant, make_site())


@pytest.fixture
def browser(client: Client) -> Client:
    actor = operator()
    assert actor.user is not None
    return sign_in(client, actor.user)


def page(row: Order | Cluster) -> str:
    return f"/operations/clusters/{row._meta.model_name}/{row.pk}/change/"


def do(row: Order | Cluster, verb: str) -> str:
    return f"/operations/clusters/{row._meta.model_name}/{row.pk}/do/{verb}/"


def test_the_review_shows_what_the_decision_needs(browser: Client, order: Order) -> None:
    text = browser.get(page(order)).content.decode()
    for part in (
        "Aurora Lab",
        "site-north-a100-4-01",  # a machine that would be taken
        "slurm of site-north-a100-4-02",  # the plan
        order.plan_hash[:16],
        "€\xa025.00",
        "€\xa018,250.00",
        "4 of 4",  # free before
        "The tenant gave no reason.",
        "Approve this plan",
    ):
        assert part in text


@case("U36")
def test_approving_with_the_plan_that_was_seen(browser: Client, order: Order) -> None:
    answer = browser.post(do(order, "approve"), {"plan_hash": order.plan_hash, "note": "Fine."}, follow=True)
    assert "is being built" in answer.content.decode()
    order.refresh_from_db()
    assert (order.state, order.decision_note) == (OrderState.APPROVED, "Fine.")
    assert AuditEvent.objects.get(verb="order.approved").via == "admin"


@case("U36")
def test_opening_links_changes_nothing(browser: Client, order: Order) -> None:
    for verb in ("approve", "reject"):
        assert browser.get(do(order, verb), {"plan_hash": order.plan_hash}).status_code == 405
    browser.get(page(order))
    assert browser.post(page(order), {"plan_hash": order.plan_hash}).status_code == 405
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED


@case("U36")
def test_a_changed_plan_is_refused_politely(browser: Client, order: Order) -> None:
    Flavor.objects.update(cpus=8)
    answer = browser.post(do(order, "approve"), {"plan_hash": order.plan_hash}, follow=True)
    assert answer.status_code == 200
    assert "The plan changed since you looked at it." in answer.content.decode()
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED
    assert "out of date" in browser.get(page(order)).content.decode()


@case("U36")
def test_deciding_twice_names_the_present_state(browser: Client, order: Order) -> None:
    sent = {"plan_hash": order.plan_hash, "note": "First."}
    browser.post(do(order, "approve"), sent)
    again = browser.post(do(order, "approve"), sent, follow=True)
    assert "This order is approved, under way." in again.content.decode()
    assert Cluster.objects.count() == 1


@case("U36")
def test_a_member_sees_why_they_cannot_decide(browser: Client, order: Order, tenant: Tenant) -> None:
    actor = operator()
    assert actor.user is not None
    make_member(tenant, Role.VIEWER, user=actor.user)
    assert "another operator has to decide" in browser.get(page(order)).content.decode()
    for verb in ("approve", "reject"):
        sent = {"plan_hash": order.plan_hash, "note": "x"}
        assert browser.post(do(order, verb), sent).status_code == 403
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED


def test_a_rejection_without_reason_keeps_the_page(browser: Client, order: Order) -> None:
    answer = browser.post(do(order, "reject"), {"note": " " * 3})
    assert answer.status_code == 400
    assert "Say why" in answer.content.decode()
    long = browser.post(do(order, "reject"), {"note": "x" * 2001})
    assert long.status_code == 400
    assert "x" * 2001 in long.content.decode()  # what was typed stays
    browser.post(do(order, "reject"), {"note": "Too large."})
    order.refresh_from_db()
    assert (order.state, order.decision_note) == (OrderState.REJECTED, "Too large.")


def test_a_plan_that_is_being_made_is_waited_for(browser: Client, tenant: Tenant) -> None:
    order = make_order(tenant, make_site("Site South"), planned=False)
    text = browser.get(page(order)).content.decode()
    assert 'http-equiv="refresh"' in text
    assert "Approve this plan" not in text
    make_plan(str(order.pk))
    text = browser.get(page(order)).content.decode()
    assert 'http-equiv="refresh"' not in text
    assert "Approve this plan" in text


def test_without_capacity_the_review_says_so(browser: Client, tenant: Tenant) -> None:
    site = make_site("Site South")
    Machine.objects.filter(site=site, name__endswith="01").update(state=MachineState.BROKEN)
    late = make_order(tenant, site, name="late", nodes=4)
    text = browser.get(page(late)).content.decode()
    assert "Site South has only 3 nodes of a100-4 free; pool train needs 4." in text
    assert "disabled" in text


def test_waiting_orders_come_first_the_oldest_on_top(browser: Client, tenant: Tenant) -> None:
    site = make_site(machines=20)
    for name in ("old", "new"):
        make_order(tenant, site, name=name, planned=False)
    make_cluster(tenant, site, name="done")
    text = browser.get(QUEUE).content.decode()
    rows = text[text.index("result_list") :]
    assert rows.index(": old") < rows.index(": new") < rows.index(": done")
    assert "2 x a100-4, 18 free" in rows


@pytest.mark.parametrize("url", [QUEUE, FLEET, "/operations/clusters/machine/"])
def test_lists_ask_the_database_no_more_with_more_rows(
    browser: Client, tenant: Tenant, url: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    site = make_site(machines=30)
    make_cluster(tenant, site, name="first", nodes=1)
    browser.get(url)  # fills caches
    with django_assert_max_num_queries(1000) as few:
        browser.get(url)
    for number in range(3):
        make_cluster(make_tenant(f"Lab {number}"), site, name=f"more-{number}x", nodes=2)
    with django_assert_max_num_queries(1000) as many:
        browser.get(url)
    # the filter by tenant lists them, in one query
    assert len(many) <= len(few)


def test_steps_and_verbs_of_a_cluster(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    text = browser.get(page(cluster)).content.decode()
    for part in ("NameTaken", "Somebody else has this name.", "Find out who.", "when somebody acts"):
        assert part in text
    assert browser.get(do(cluster, "retry")).status_code == 405
    world.set("slurm")
    assert "looks at" in browser.post(do(cluster, "retry"), follow=True).content.decode()
    engine.reconcile(cluster.pk)
    cluster.refresh_from_db()
    assert cluster.phase == Phase.READY
    for verb, paused in (("pause", True), ("resume", False)):
        browser.post(do(cluster, verb))
        cluster.refresh_from_db()
        assert cluster.paused is paused
    refused = browser.post(do(cluster, "give-up"), {"note": "No."}, follow=True).content.decode()
    assert "Only a build or a change can be given up" in refused
    assert browser.post(do(cluster, "explode")).status_code == 404


def test_giving_up_a_build(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", fail="permanent")
    engine.reconcile(cluster.pk)
    assert browser.post(do(cluster, "give-up"), {"note": ""}).status_code == 400
    browser.post(do(cluster, "give-up"), {"note": "The rack burnt."})
    cluster.refresh_from_db()
    assert (cluster.phase, cluster.message) == (Phase.FAILED, "The rack burnt.")
    order = Order.objects.get(cluster=cluster)
    assert (order.state, order.decision_note) == (OrderState.FAILED, "The rack burnt.")
    engine.reconcile(cluster.pk)
    assert world.calls("remove") == []


def test_capacity_of_a_site(browser: Client) -> None:
    demo.load()
    assert "a100-4: 10 of 10" in browser.get("/operations/clusters/site/").content.decode()
    site = Machine.objects.first().site  # type: ignore[union-attr]
    text = browser.get(f"/operations/clusters/site/{site.pk}/change/").content.decode()
    assert "control_plane" in text
    assert "10 free" in text


def test_a_tenants_owner_gets_nowhere_near(client: Client, order: Order) -> None:
    sign_in(client, make_user("Mallory"))
    for url in (QUEUE, page(order)):
        assert client.get(url).status_code in {302, 403}
    assert client.post(do(order, "approve"), {"plan_hash": order.plan_hash}).status_code in {302, 403}
    order.refresh_from_db()
    assert order.state == OrderState.SUBMITTED


def test_the_first_page_asks_for_itself_again(browser: Client, order: Order) -> None:
    first = browser.get("/operations/").content.decode()
    assert "<title>Operations · Freehold</title>" in first
    assert 'hx-get="/operations/now/"' in first
    seen = browser.get("/operations/now/")
    assert seen.content.decode().strip() in first
    assert browser.get("/operations/now/", headers={"If-None-Match": seen["ETag"]}).status_code == 304
    make_order(order.tenant, order.site, name="second")
    later = browser.get("/operations/now/", headers={"If-None-Match": seen["ETag"]})
    assert "second" in later.content.decode()
    assert later["ETag"] in later.content.decode().replace('\\"', '"')


def test_who_is_signed_out_is_told_by_the_page_that_asks(client: Client) -> None:
    assert client.get("/operations/now/").status_code == 302
    asked = client.get("/operations/now/", headers={"HX-Request": "true"}, follow=True)
    assert asked.status_code == 401
