"""The pages of a change: form with its sum, order, cluster, settings, review; in each state."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

import pytest
from django.test import Client

from clusters.models import Allocation, Cluster, Offering, Order, OrderKind, OrderState, Quota
from clusters.provisioning import engine
from clusters.services.clusters import give_up, terminate_cluster
from clusters.services.orders import cancel_order
from tenants.models import Role, Tenant
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.clusters.builders import (
    approve,
    make_cluster,
    make_flavor,
    make_site,
    operator,
    owner_of,
    resize,
    see_nodes,
)
from tests.clusters.fakes import World

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]


@pytest.fixture
def cluster(tenant: Tenant, world: World) -> Cluster:
    found = make_cluster(tenant, make_site(machines=6))
    engine.reconcile(found.pk)
    return Cluster.objects.select_related("site", "tenant").get(pk=found.pk)


@pytest.fixture
def browser(client: Client, tenant: Tenant, world: World) -> Client:
    return sign_in(client, owner_of(tenant))


def text_of(browser: Client, url: str, status: int = 200) -> str:
    answer = browser.get(f"/t/aurora-lab/{url}")
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


def form(cluster: Cluster) -> str:
    return f"clusters/{cluster.pk}/resize/"


def sent(**changes: str) -> dict[str, str]:
    data = {"key": str(uuid.uuid4()), "rows": "1", "count-train": "2", "justification": "More <b>data</b>."}
    return data | {name.replace("__", "-"): value for name, value in changes.items()}


def test_the_form_shows_what_is_there(browser: Client, cluster: Cluster) -> None:
    text = text_of(browser, form(cluster))
    assert 'name="count-train" value="2"' in text
    assert "Nothing would change yet." in text
    assert f"clusters/{cluster.pk}/resize/" in text_of(browser, f"clusters/{cluster.pk}/settings/")
    assert f"clusters/{cluster.pk}/resize/" in text_of(browser, f"clusters/{cluster.pk}/")


def test_the_sum_of_growing(browser: Client, cluster: Cluster, tenant: Tenant) -> None:
    Quota.objects.create(tenant=tenant, flavor=make_flavor(), nodes=5)
    offering = Offering.objects.get()
    text = text_of(
        browser,
        f"{form(cluster)}summary/?count-train=4&rows=1&new-0-name=big&new-0-offering={offering.pk}&new-0-count=3",
    )
    for part in (
        "2 → <b>4</b>",
        "0 → <b>3</b>",
        "8 → 28",  # GPUs
        "€\u00a025.00",
        "€\u00a087.50",
        "5 more; 4 of 6 nodes free now; your quota leaves 3",
        "Your quota leaves 3 nodes of a100-4; you ask for 5 more.",
        "Only 4 of 5 nodes of a100-4 are free now: 4 would fit at once.",
        "an operator decides",
    ):
        assert " ".join(part.split()) in text.replace("\u00a0", " "), part


def test_the_sum_of_shrinking_names_the_nodes_and_warns_of_jobs(browser: Client, cluster: Cluster) -> None:
    names = sorted(Allocation.objects.filter(pool__cluster=cluster).values_list("machine__name", flat=True))
    see_nodes(cluster, **{names[1].replace("-", "_"): 8})
    text = text_of(browser, f"{form(cluster)}summary/?count-train=1&rows=1")
    assert f'<span class="tag mono">{names[0]}</span>' in text
    assert names[1] not in text
    assert "no operator is needed" in text
    text = text_of(browser, f"{form(cluster)}summary/?count-train=0&rows=1")
    assert f"{names[1]}, busy" in text
    assert "On 1 of them jobs run." in text
    assert "jobs that wait in it end" in text


def test_a_shrink_is_sent_and_followed(browser: Client, cluster: Cluster, world: World) -> None:
    world.set("slurm", busy="4711")
    answer = browser.post(f"/t/aurora-lab/{form(cluster)}", sent(**{"count-train": "1"}), follow=True)
    order = Order.objects.get(kind=OrderKind.RESIZE)
    text = " ".join(answer.content.decode().split())
    for part in (
        "Approved by policy",
        "Being changed",
        "by policy",
        "being emptied",
        "Cancel resize",
        "2 → <b>1</b>",
    ):
        assert part in text
    engine.reconcile(cluster.pk)
    url = f"orders/{order.pk}/"
    text = text_of(browser, url)
    assert "Waits for running jobs." in text
    assert "NodesBusy" in text
    assert "Jobs 4711 still run." in text
    assert "Resize:" in text_of(browser, f"clusters/{cluster.pk}/")
    assert "A resize is open" in text_of(browser, f"clusters/{cluster.pk}/settings/")
    assert "train 2 → 1" in text_of(browser, "orders/")
    assert "Being changed" in text_of(browser, "")
    assert "Being emptied" in text_of(browser, f"clusters/{cluster.pk}/nodes/")
    refused = text_of(browser, form(cluster), 409)
    assert "One change at a time" in refused
    assert str(order.pk)[:8] in refused
    world.set("slurm")
    engine.reconcile(cluster.pk)
    assert "being given back" in text_of(browser, url)
    engine.reconcile(cluster.pk)
    text = text_of(browser, url)
    assert "As ordered" in text
    assert "Fulfilled" in text


def test_what_was_typed_stays(browser: Client, cluster: Cluster) -> None:
    url = f"/t/aurora-lab/{form(cluster)}"
    data = sent(**{"count-train": "99", "new-0-name": "-", "new-0-count": "x"})
    answer = browser.post(url, data)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="99"' in text
    assert "More &lt;b&gt;data&lt;/b&gt;." in text
    assert "Nothing was changed. What you typed is still here." in text
    assert not Order.objects.filter(kind=OrderKind.RESIZE).exists()
    answer = browser.post(url, sent())
    assert answer.status_code == 400
    assert "Nothing would change: every pool keeps its number of nodes." in answer.content.decode()
    answer = browser.post(url, sent(**{"count-train": "7"}))
    assert "Site North has 6 nodes" in answer.content.decode()
    more = browser.post(url, sent(more="1"))
    assert 'name="new-1-name"' in more.content.decode()
    assert browser.post(url, sent(**{"count-train": "1"}, check="1")).status_code == 200
    assert not Order.objects.filter(kind=OrderKind.RESIZE).exists()


def test_members_see_no_button(client: Client, tenant: Tenant, cluster: Cluster) -> None:
    sign_in(client, make_member(tenant, Role.MEMBER))
    text = text_of(client, f"clusters/{cluster.pk}/settings/")
    assert "/resize/" not in text
    assert "Owners and admins of Aurora Lab can resize a cluster." in text


def test_an_operator_reviews_a_resize(client: Client, cluster: Cluster) -> None:
    order = resize(cluster, train=1, new=3)
    actor = operator()
    assert actor.user is not None
    sign_in(client, actor.user)
    url = f"/operations/clusters/order/{order.pk}/"
    text = " ".join(client.get(f"{url}change/").content.decode().split())
    for part in (
        "2 → <b>1</b>",
        "0 → <b>3</b>",
        "Machines that would be taken",
        "Machines that would leave",
        "settled at the approval, idle ones first",
        "No longer: slurm of",
        "Per hour before",
        "Approve this plan",
    ):
        assert part in text, part
    assert "train: 2 to 1 x a100-4" in client.get("/operations/clusters/order/").content.decode()
    approved = client.post(f"{url}do/approve/", {"plan_hash": order.plan_hash}, follow=True)
    assert "is being changed" in approved.content.decode()
    assert "Take the approval back" in approved.content.decode()
    page = client.get(f"/operations/clusters/cluster/{cluster.pk}/change/").content.decode()
    assert "Give up the change" in page
    assert ", being emptied" in page
    given = client.post(
        f"/operations/clusters/cluster/{cluster.pk}/do/give-up/", {"note": "Out of power."}, follow=True
    )
    assert "it goes back to what it was" in given.content.decode()
    order.refresh_from_db()
    assert order.state == OrderState.FAILED


def test_going_back_is_followed_to_its_end(browser: Client, cluster: Cluster, world: World) -> None:
    order = approve(resize(cluster, train=3))
    engine_url, url = f"/t/aurora-lab/orders/{order.pk}/cancel/", f"orders/{order.pk}/"
    assert "Running jobs go on." in browser.get(engine_url).content.decode()
    answer = browser.post(engine_url, follow=True)
    text = answer.content.decode()
    assert "the cluster becomes what it was before" in text
    assert "Going back to what it was" in text
    assert "still being given back" in text_of(browser, f"clusters/{cluster.pk}/settings/")
    for _ in range(2):
        engine.reconcile(cluster.pk)
    assert "As it was before" in text_of(browser, url)


@case("U38")
def test_a_failed_order_is_not_charged_and_its_owner_removes_it(
    browser: Client, client: Client, tenant: Tenant, world: World
) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    order = Order.objects.get(cluster=cluster)
    give_up(actor=operator(), cluster=cluster, note="No such switch.")
    url = f"orders/{order.pk}/"
    text = text_of(browser, url)
    for part in ("Given up", "It is not charged.", "No such switch.", "Remove what was built"):
        assert part in text
    assert "Remove what was built" in text_of(browser, f"clusters/{cluster.pk}/settings/")
    cluster.refresh_from_db()
    assert not cluster.is_charged
    removed = browser.post(
        f"/t/aurora-lab/clusters/{cluster.pk}/terminate/", {"when": "later", "confirm": "gpu-a"}, follow=True
    )
    assert removed.status_code == 200
    world.set("slurm")
    assert "Being taken back" in text_of(browser, url)
    engine.reconcile(cluster.pk)
    assert "Taken back" in text_of(browser, url)
    assert world.things() == []


@case("U36")
def test_a_cancelled_build_is_followed_until_all_is_taken_back(
    browser: Client, tenant: Tenant, world: World
) -> None:
    cluster = make_cluster(tenant, make_site())
    world.set("slurm", slow=1000)
    engine.reconcile(cluster.pk)
    order = Order.objects.get(cluster=cluster)
    cancel_order(actor=actor_for(owner_of(tenant), tenant), order=order)
    url = f"orders/{order.pk}/"
    assert "Being taken back" in text_of(browser, url)
    engine.reconcile(cluster.pk)
    assert "Taken back" in text_of(browser, url)


def test_the_end_is_told_wherever_jobs_are_submitted(browser: Client, cluster: Cluster) -> None:
    assert "Submit job" in text_of(browser, f"clusters/{cluster.pk}/")
    order = terminate_cluster(
        actor=replace(actor_for(owner_of(cluster.tenant), cluster.tenant)),
        cluster=cluster,
        typed_name=cluster.name,
    )
    assert "Submit job" not in text_of(browser, f"clusters/{cluster.pk}/")
    assert "new ones are refused" in text_of(browser, f"clusters/{cluster.pk}/")
    assert "Scheduled" in text_of(browser, f"orders/{order.pk}/")
    text = text_of(browser, f"clusters/{cluster.pk}/jobs/new/", 409)
    day = re.escape(f"{Cluster.objects.get(pk=cluster.pk).terminate_at:%Y-%m-%d %H:%M}")
    assert re.search(f"takes no new jobs: it is to be removed at {day} UTC", text)
