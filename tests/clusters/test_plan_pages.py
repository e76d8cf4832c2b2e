"""What a plan's steps touch: each thing for the operator, numbers and vetted lines for the tenant."""

from __future__ import annotations

import pytest
from django.test import Client

from clusters import told
from clusters.models import Cluster, Order
from clusters.provisioning import engine
from clusters.provisioning.plan import make_plan
from tenants.models import Tenant
from tests.builders import sign_in
from tests.clusters.builders import make_cluster, make_order, make_site, operator, owner_of, resize
from tests.clusters.fakes import FakeStep, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """The steps are a provider's component's: what it tells is not for tenants."""
    monkeypatch.setattr(FakeStep, "component", "Metal3")


def review_of(client: Client, order: Order) -> str:
    actor = operator()
    assert actor.user is not None
    page = f"/operations/clusters/order/{order.pk}/change/"
    return sign_in(client, actor.user).get(page).content.decode()


def order_page_of(client: Client, order: Order) -> str:
    browser = sign_in(client, owner_of(order.tenant))
    answer = browser.get(f"/t/{order.tenant.slug}/orders/{order.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_approval_page_lists_each_thing_with_what_is_sent(
    client: Client, tenant: Tenant, world: World
) -> None:
    text = review_of(client, make_order(tenant, make_site()))
    assert text.count("creates 1 thing") == 5
    for part in (
        'id="thing-fabric-1"',
        "in Fake</span></summary>",
        "&quot;pools&quot;: {&quot;train&quot;: [&quot;site-north-a100-4-01&quot;",
        "Copy fabric",
    ):
        assert part in text


def test_a_resize_shows_each_field_with_old_and_new_value(
    client: Client, tenant: Tenant, world: World
) -> None:
    cluster = make_cluster(tenant, make_site())
    engine.reconcile(cluster.pk)
    text = review_of(client, resize(Cluster.objects.get(pk=cluster.pk), train=3))
    assert "changes 1 thing" in text
    assert "<th>Wanted</th><th>Found</th>" in text
    assert "&quot;site-north-a100-4-03&quot;]}" in text  # wanted
    assert "[&quot;site-north-a100-4-01&quot;, &quot;site-north-a100-4-02&quot;]}" in text  # found


def test_what_could_not_be_looked_at_is_said_with_what_it_means(
    client: Client, tenant: Tenant, world: World
) -> None:
    world.set("fabric", fail="temporary", on="preview")
    text = review_of(client, make_order(tenant, make_site()))
    for part in ("Not looked at.", "NotReachable: It cannot be reached. It does not answer.", "Approve this"):
        assert part in text
    assert text.count("Not looked at.") == 1


def test_a_tenant_sees_numbers_and_nothing_of_the_provider(
    client: Client, tenant: Tenant, provider: None
) -> None:
    order = make_order(tenant, make_site())
    stranger_lines = [line for step in (order.plan or {})["steps"] for line in step["makes"]]
    assert "slurm of site-north-a100-4-01" in stranger_lines
    operators = review_of(client, order)
    text = order_page_of(client, order)
    for part in ("slurm of site-north", "&quot;pools&quot;", "<pre>"):
        assert part in operators
        assert part not in text
    assert text.count("creates 1 thing") == 5
    assert "Metal3" in text  # who provides a layer is no secret


def test_vetted_lines_of_a_provider_are_shown_to_tenants(
    client: Client, tenant: Tenant, provider: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("machine gpu-07 for pool train", "host claim claim-9 on machine bmc-10-0-0-7 for pool train")
    monkeypatch.setattr(FakeStep, "describe", lambda self, spec: lines)
    monkeypatch.setattr(FakeStep, "preview", lambda self, ctx: ())
    order = make_order(tenant, make_site())
    text = order_page_of(client, order)
    assert "machine gpu-07 for pool train" in text
    assert "bmc-10-0-0-7" not in text
    assert text.count("1 more thing") == 5
    assert "bmc-10-0-0-7" in review_of(client, order)


def test_what_a_provider_says_of_a_step_is_not_for_tenants(
    client: Client, tenant: Tenant, world: World, provider: None
) -> None:
    site = make_site()
    cluster = make_cluster(tenant, site)
    world.set("slurm", fail="permanent", on="apply")
    engine.reconcile(cluster.pk)
    order = Order.objects.get(cluster=cluster)
    browser = sign_in(client, owner_of(tenant))
    here = f"/t/{tenant.slug}/clusters/{cluster.pk}"
    for url in (f"{here}/", f"{here}/steps/", f"{here}/events/", f"/t/{tenant.slug}/orders/{order.pk}/"):
        text = browser.get(url).content.decode()
        assert "Something that Freehold did not make has the name." in text
        assert "Somebody else has this name." not in text
    make_plan(str(order.pk))
    told.OWN.add("Metal3")  # the same pages, of a component whose words are for tenants
    try:
        assert "Somebody else has this name." in browser.get(f"{here}/").content.decode()
    finally:
        told.OWN.discard("Metal3")


def test_facts_of_a_provider_stay_with_operators(client: Client, tenant: Tenant, provider: None) -> None:
    cluster = make_cluster(tenant, make_site())
    engine.reconcile(cluster.pk)
    steps = sign_in(client, owner_of(tenant)).get(f"/t/{tenant.slug}/clusters/{cluster.pk}/steps/")
    text = steps.content.decode()
    assert "http://127.0.0.1:9" in text  # the address of their Slurm is theirs
    assert ">needs</span>" not in text


def test_a_control_plane_that_is_not_there_yet_says_why_in_our_words(
    client: Client, tenant: Tenant, world: World
) -> None:
    cluster = make_cluster(tenant, make_site())
    cluster.site.drivers |= {"control_plane": "vcluster_platform"}
    cluster.site.save()
    cluster.steps.create(
        name="control-plane",
        position=1,
        component="vCluster Platform",
        status="progressing",
        reason="NotReachable",
        message="https://platform.inside:6443 does not answer.",
    )
    browser = sign_in(client, owner_of(tenant))
    text = browser.get(f"/t/{tenant.slug}/clusters/{cluster.pk}/access/").content.decode()
    assert "It cannot be reached." in text
    assert "platform.inside" not in text
