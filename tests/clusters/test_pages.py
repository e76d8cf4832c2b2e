"""Overview, lists and the pages of a cluster, in each of their states."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters.models import Cluster, Node, Order, Phase, SlurmEndpoint
from clusters.provisioning import engine
from clusters.services.clusters import give_up, pause, terminate_cluster
from portal.lib import clock
from portal.lib.keyset import ROWS
from tenants.models import Role, Tenant
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.clusters.builders import make_cluster, make_order, make_site, operator, owner_of
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db
TABS = ("", "nodes/", "steps/", "events/", "access/", "settings/")


@pytest.fixture
def browser(client: Client, tenant: Tenant, world: World) -> Client:
    return sign_in(client, owner_of(tenant))


def text_of(browser: Client, url: str) -> str:
    answer = browser.get(f"/t/aurora-lab/{url}")
    assert answer.status_code == 200
    return answer.content.decode()


def page(cluster: Cluster, tab: str = "") -> str:
    return f"clusters/{cluster.pk}/{tab}"


@case("U32")
def test_the_first_visit_shows_the_way(browser: Client, client: Client, tenant: Tenant) -> None:
    text = text_of(browser, "")
    for part in ("No cluster yet", "1. Order", "2. Approval, then building", "3. First job", "orders/new/"):
        assert part in text
    assert "No orders here" in text_of(browser, "orders/")
    assert "No clusters" in text_of(browser, "clusters/")
    sign_in(client, make_member(tenant, Role.VIEWER))
    assert "An owner or admin of your tenant can order one." in text_of(client, "")


def test_an_order_on_its_way(browser: Client, tenant: Tenant, world: World) -> None:
    site = make_site()
    waiting = make_order(tenant, site, name="waits", nodes=1)
    overview = text_of(browser, "")
    assert "An operator" in overview
    assert f'id="live-tenant-overview-{tenant.pk.hex}"' in overview
    order_page = text_of(browser, f"orders/{waiting.pk}/")
    assert f'id="live-order-{waiting.pk.hex}"' in order_page
    assert "slurm of site-north-a100-4-01" in order_page  # the plan
    building = make_cluster(tenant, site, name="builds", nodes=1)
    world.set("slurm", slow=100)
    engine.reconcile(building.pk)
    overview = text_of(browser, "")
    assert "Start Slurm, by Fake." in overview
    order = Order.objects.get(cluster=building)
    text = text_of(browser, f"orders/{order.pk}/")
    for part in ("2 of 5 steps", "Under way:", "Starting", "It is starting.", "Cancel order"):
        assert part in text


def test_a_stalled_build_says_whom_it_waits_for_but_not_the_operators_hint(
    browser: Client, tenant: Tenant, world: World
) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    order = Order.objects.get(cluster=cluster)
    for url in (f"orders/{order.pk}/", page(cluster), page(cluster, "steps/"), page(cluster, "events/")):
        text = text_of(browser, url)
        assert "Somebody else has this name." in text
        assert "Find out who." not in text
    assert "Waits for an operator." in text_of(browser, page(cluster))


def test_a_ready_cluster(browser: Client, tenant: Tenant) -> None:
    cluster = make_cluster(tenant, make_site())
    engine.reconcile(cluster.pk)
    now = clock.now()
    SlurmEndpoint.objects.update(observed_at=now, jobs_running=3, jobs_pending=128)
    for number in (1, 2):
        Node.objects.create(
            cluster=cluster,
            name=f"node-{number}",
            state="MIXED",
            available=number == 1,
            gpus=4,
            gpus_used=3,
            cpus=16,
            memory_mib=65536,
            partitions=["train"],
            observed_at=now,
        )
    text = text_of(browser, page(cluster))
    for part in (
        "22.05.8",
        "API v0.0.38",
        "€\xa025.00",
        "128",
        f'id="live-cluster-{cluster.pk.hex}"',
        "6 <small>of 8",
    ):
        assert part in text
    assert "1/2" in text_of(browser, "")
    assert "node-2" in text_of(browser, page(cluster, "nodes/"))
    assert "no Kubernetes control plane" in text_of(browser, page(cluster, "access/"))
    assert "http://127.0.0.1:9" in text_of(browser, page(cluster, "steps/"))
    for tab in TABS:
        assert cluster.external_name in text_of(browser, page(cluster, tab))


def test_every_state_of_a_cluster_has_its_words(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    assert "A worker is about to begin" in text_of(browser, page(cluster))
    pause(actor=operator(), cluster=cluster)
    assert "Paused by an operator." in text_of(browser, page(cluster))
    assert "See the machines" in text_of(browser, page(cluster))
    Cluster.objects.filter(pk=cluster.pk).update(paused=False)
    engine.reconcile(cluster.pk)
    since = clock.now() - dt.timedelta(minutes=9)
    SlurmEndpoint.objects.update(unreachable_since=since, observed_at=since)
    assert "Slurm has not answered" in text_of(browser, page(cluster))
    actor = actor_for(owner_of(tenant), tenant)
    terminate_cluster(actor=actor, cluster=cluster, typed_name=cluster.name)
    for url in (page(cluster), page(cluster, "settings/")):
        assert "called off" in text_of(browser, url)
    assert "To be removed" in text_of(browser, "")
    terminate_cluster(actor=actor, cluster=cluster, typed_name=cluster.name, at_once=True)
    engine.reconcile(cluster.pk)
    for tab in TABS:
        text_of(browser, page(cluster, tab))
    assert "was removed" in text_of(browser, page(cluster))
    assert "See the machines" not in text_of(browser, page(cluster))
    assert cluster.name not in text_of(browser, "")
    assert page(cluster) in text_of(browser, "clusters/?removed=1")
    assert page(cluster) not in text_of(browser, "clusters/")


def test_a_build_that_was_given_up(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = make_cluster(tenant, make_site())
    give_up(actor=operator(), cluster=cluster, note="The rack burnt.")
    assert "The build was given up." in text_of(browser, page(cluster))
    text = text_of(browser, f"orders/{Order.objects.get(cluster=cluster).pk}/")
    assert "The rack burnt." in text
    assert "Order again with changes" in text


def test_terminating_in_the_browser(browser: Client, tenant: Tenant) -> None:
    cluster = make_cluster(tenant, make_site(), phase=Phase.READY)
    url = f"/t/aurora-lab/{page(cluster, 'terminate/')}"
    assert browser.get(url).status_code == 200
    wrong = browser.post(url, {"when": "later", "confirm": "gpu"})
    assert wrong.status_code == 400
    assert "Type gpu-a to confirm." in wrong.content.decode()
    assert 'value="gpu"' in wrong.content.decode()
    done = browser.post(url, {"when": "later", "confirm": "gpu-a"}, follow=True)
    assert "Removal is scheduled" in done.content.decode()
    order = Order.objects.get(cluster=cluster, kind="terminate")
    back = browser.post(f"/t/aurora-lab/orders/{order.pk}/cancel/", follow=True)
    assert "The cluster stays." in back.content.decode()
    browser.post(url, {"when": "now", "confirm": "gpu-a"})
    assert not Cluster.objects.get(pk=cluster.pk).wanted
    assert browser.post(url, {"when": "now", "confirm": "gpu-a"}).status_code == 409


def test_events_have_pages(browser: Client, tenant: Tenant) -> None:
    cluster = make_cluster(tenant, make_site())
    cluster.step_events.bulk_create(
        cluster.step_events.model(cluster=cluster, step="slurm", status="ready", reason=f"Reason{number}")
        for number in range(2 * ROWS)
    )
    first = text_of(browser, page(cluster, "events/"))
    assert f"Reason{2 * ROWS - 1}<" in first
    assert "data-region" in first
    assert f"Reason{ROWS - 1}<" not in first
    found = re.search(r'rel="next" href="[^"]*\?(after=[0-9]+)"', first)
    assert found is not None
    second = text_of(browser, page(cluster, f"events/?{found[1]}"))
    assert f"Reason{ROWS}<" not in second
    assert f"Reason{ROWS - 1}<" in second
    assert "Reason0<" in second
    assert "data-region" not in second
    # what came meanwhile moves nothing
    cluster.step_events.create(step="slurm", status="stalled", reason="Later")
    assert f"Reason{ROWS}<" not in text_of(browser, page(cluster, f"events/?{found[1]}"))
    assert "There are no older events." in text_of(browser, page(cluster, "events/?after=1"))
    for odd in ("nonsense", "-1", "9" * 40, "\u0661"):
        assert "Later" in text_of(browser, page(cluster, f"events/?after={odd}"))


@pytest.mark.parametrize("url", ["", "orders/", "clusters/"])
def test_lists_ask_the_database_no_more_with_more_rows(
    browser: Client, tenant: Tenant, url: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    site = make_site(machines=40)
    engine.reconcile(make_cluster(tenant, site, name="first", nodes=1).pk)
    make_order(tenant, site, name="waits", nodes=1)
    make_cluster(tenant, site, name="builds", nodes=1)
    text_of(browser, url)
    with django_assert_max_num_queries(1000) as few:
        text_of(browser, url)
    for number in range(2):
        engine.reconcile(make_cluster(tenant, site, name=f"more-{number}x", nodes=1).pk)
        make_order(tenant, site, name=f"waits-{number}x", nodes=1)
        make_cluster(tenant, site, name=f"builds-{number}x", nodes=1)
    with django_assert_max_num_queries(1000) as many:
        text_of(browser, url)
    assert len(many) <= len(few)


def test_the_fragment_is_what_the_page_shows(browser: Client, tenant: Tenant) -> None:
    cluster = make_cluster(tenant, make_site())
    engine.reconcile(cluster.pk)
    whole = text_of(browser, page(cluster))
    answer = browser.get(f"/t/aurora-lab/live/cluster/{cluster.pk}/")
    fragment = answer.content.decode()
    assert "".join(fragment.split()) in "".join(whole.split())
    again = browser.get(
        f"/t/aurora-lab/live/cluster/{cluster.pk}/", headers={"If-None-Match": answer["ETag"]}
    )
    assert again.status_code == 304
