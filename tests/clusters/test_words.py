"""How steps, plans and counts read."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import translation

from clusters import plans, reasons, told, words
from clusters.models import Cluster, Order, StepState, StepStatus
from clusters.provisioning import engine
from clusters.services.clusters import terminate_cluster
from clusters.templatetags.orders import gib, money, signed
from tenants.live.topics import Topic, version_of
from tenants.models import Tenant
from tests.builders import actor_for, sign_in
from tests.clusters.builders import (
    approved_order,
    make_cluster,
    make_order,
    make_site,
    owner_of,
    resize,
    see_nodes,
)
from tests.clusters.fakes import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client, tenant: Tenant, world: World) -> Client:
    return sign_in(client, owner_of(tenant))


def text_of(browser: Client, url: str) -> str:
    answer = browser.get(f"/t/aurora-lab/{url}")
    assert answer.status_code == 200
    return answer.content.decode()


def ready(tenant: Tenant, nodes: int = 2) -> Cluster:
    cluster = make_cluster(tenant, make_site(), nodes=nodes)
    engine.reconcile(cluster.pk)
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def test_a_step_that_is_removed_does_not_read_as_if_it_were_made(tenant: Tenant, world: World) -> None:
    cluster = ready(tenant)
    step = StepState.objects.get(cluster=cluster, name="smoke")
    step.status = StepStatus.PROGRESSING
    made = words.waiting_of_steps([step])
    step.status = StepStatus.REMOVING
    removed = words.waiting_of_steps([step])
    assert made is not None
    assert removed is not None
    assert made.what == "Run a test job, by Fake."
    assert removed.what == "Remove: Run a test job, by Fake."


def test_the_banner_of_a_removal(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = ready(tenant)
    actor = actor_for(owner_of(tenant), tenant)
    world.set("smoke", fail="temporary", on="remove")
    terminate_cluster(actor=actor, cluster=cluster, typed_name=cluster.name, at_once=True)
    engine.reconcile(cluster.pk)
    assert "Remove: Run a test job, by Fake." in text_of(browser, f"clusters/{cluster.pk}/")


def test_accounts_stand_in_the_plan_though_nobody_knows_yet_whose(browser: Client, tenant: Tenant) -> None:
    order = make_order(tenant, make_site())
    plan = {**(order.plan or {})}
    assert "an account for each member" not in text_of(browser, f"orders/{order.pk}/")
    for step in plan["steps"]:
        if step["name"] == "identity":
            step["makes"] = []
    Order.objects.filter(pk=order.pk).update(plan=plan)
    assert "an account for each member" in text_of(browser, f"orders/{order.pk}/")


def test_nodes_of_a_pool_that_shrinks(browser: Client, tenant: Tenant, world: World) -> None:
    cluster = ready(tenant)
    see_nodes(cluster)
    assert "2/2" in text_of(browser, "clusters/")
    resize(cluster, train=1)
    assert "2/1" not in text_of(browser, "clusters/")
    for url in ("clusters/", ""):
        assert "2, going down to 1" in text_of(browser, url)
    assert "2 <small>going down to 1" in text_of(browser, f"clusters/{cluster.pk}/")


@pytest.mark.parametrize("name", ["clusters", "orders"])
def test_lists_are_live_as_they_open(browser: Client, tenant: Tenant, name: str) -> None:
    topic = Topic(tenant.pk, name, tenant.pk)
    before = version_of(topic)
    order = approved_order(tenant, make_site())
    assert order.cluster is not None
    engine.reconcile(order.cluster.pk)
    assert version_of(topic) > before
    whole = text_of(browser, f"{name}/")
    fragment = text_of(browser, f"live/{name}/{tenant.pk}/")
    assert f'id="live-{name}-{tenant.pk.hex}"' in fragment
    assert "gpu-a" in fragment
    assert "".join(fragment.split()) in "".join(whole.split())
    assert f"topic={name}:{tenant.pk}" in whole
    for part in ("clusters/?removed=1", "orders/?state=open", "orders/?state=ended"):
        assert "data-region" not in text_of(browser, part)


def test_older_orders_are_reached_from_the_list(browser: Client, tenant: Tenant) -> None:
    site = make_site(machines=40)
    for number in range(27):
        make_order(tenant, site, name=f"gpu-{number}x", nodes=1, planned=False)
    first = text_of(browser, "orders/")
    assert "gpu-26x" in first
    assert "gpu-0x" not in first
    older = first.partition('rel="next" href="/t/aurora-lab/')[2].partition('"')[0]
    second = text_of(browser, older)
    assert "gpu-0x" in second
    assert "Newest" in second
    assert "data-region" not in second


def test_a_reason_is_said_in_the_readers_language_and_the_stored_text_stays() -> None:
    assert reasons.explain("NotStarted", "Slurm is not set up yet.") == "Slurm is not set up yet."
    assert reasons.explain("NodesBusy", "node-1") == f"{reasons.sentence_of('NodesBusy')} node-1"
    assert reasons.explain("NobodyKnows", "It hums.") == "It hums."
    assert reasons.explain("", "") == ""


@pytest.mark.parametrize(
    "line",
    [
        "machine n-1 for pool train",
        "slurmctld and slurmrestd of cluster c-abc, with keys of their own",
        "slurmd n-1 in partition train",
        "a test job in partition train on one GPU",
        "a test job in partition train",
        "VPC c-abc with 1 switch port (books only)",
        "VPC c-abc with 2 switch ports (books only)",
        "something else",
    ],
)
def test_lines_of_plans_say_the_same_in_english(line: str) -> None:
    assert plans.said(line) == line


def test_numbers_read_as_the_language_writes_them() -> None:
    assert (money(1234.5), money(None), gib(65536), gib(1536)) == (
        "€\xa01,234.50",
        "\N{EN DASH}",
        "64",
        "1.5",
    )
    assert (signed(2), signed(-1200)) == ("+2", "-1,200")
    with translation.override("de"):
        assert "1.234,50" in money(1234.5)
        assert (gib(1536), gib(65536)) == ("1,5", "64")


def test_a_label_within_a_sentence_keeps_its_nouns() -> None:
    assert words.in_a_sentence("Waiting for approval") == "waiting for approval"
    with translation.override("de"):
        assert words.in_a_sentence("Freigabe") == "Freigabe"


def test_of_a_vendors_step_that_is_well_a_tenant_is_told_nothing() -> None:
    assert told.detail("Netris", "", "VPC vpc-7 on leaf-3") == ""
    assert told.detail("Netris", "SomethingNew", "leaf-3") == "Operators see the details."
    assert told.detail("Slurm", "", "Heard from so far: 1 of 2.") == "Heard from so far: 1 of 2."
