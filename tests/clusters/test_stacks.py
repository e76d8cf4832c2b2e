"""Stacks: ordered only where a site serves them, and no Slurm where there is none."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client

from clusters.models import Cluster, Offering, Order, Phase, Site, SlurmIdentity, Stack
from clusters.services import identities
from clusters.services.orders import submit_order
from portal.lib.errors import BadInput
from tenants.models import Role, Tenant
from tests.api.calls import make_token, send
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_order, make_site, owner_of, request_for
from tests.clusters.fakes import World
from tests.clusters.volcanoes import make_volcano_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant(world: World) -> Tenant:
    return make_tenant()


def site_with(name: str, *stacks: str) -> Site:
    site = make_site(name)
    driver = site.drivers["machines"]
    site.drivers = {"machines": driver, **dict.fromkeys(stacks, driver)}
    site.save()
    return site


def page(client: Client, tenant: Tenant, url: str) -> str:
    answer = sign_in(client, owner_of(tenant)).get(f"/t/{tenant.slug}/{url}")
    assert answer.status_code == 200
    return answer.content.decode()


def sent(site: Site, stack: str) -> dict[str, str]:
    return {
        "key": str(uuid.uuid4()),
        "name": "gpu-a",
        "stack": stack,
        "site": str(site.pk),
        "rows": "1",
        "pool-0-name": "train",
        "pool-0-offering": str(Offering.objects.get(site=site).pk),
        "pool-0-count": "2",
    }


def test_the_form_offers_what_the_sites_serve_and_says_where(client: Client, tenant: Tenant) -> None:
    site_with("Site North", "slurm")
    text = page(client, tenant, "orders/new/")
    assert ">Slurm</option>" in text
    assert "volcano" not in text
    site_with("Site South", "slurm", "volcano")
    text = page(client, tenant, "orders/new/")
    assert ">Kubernetes with Volcano, at Site South</option>" in text
    assert ">Slurm</option>" in text
    assert 'value="kubernetes"' not in text


def test_a_stack_is_ordered_at_a_site_that_serves_it_and_nowhere_else(client: Client, tenant: Tenant) -> None:
    north, south = site_with("Site North", "slurm"), site_with("Site South", "volcano")
    browser = sign_in(client, owner_of(tenant))
    form = f"/t/{tenant.slug}/orders/new/"
    refused = browser.post(form, sent(north, "volcano"))
    assert refused.status_code == 400
    assert (
        refused.content.decode().count("Site North offers: Slurm.") >= 2
    )  # beside the field, and in the sum
    assert not Order.objects.exists()
    summary = f"/t/{tenant.slug}/orders/summary/"
    sum_up = browser.get(summary, sent(north, "volcano")).content.decode()
    assert "Site North offers: Slurm." in sum_up
    assert "It fits." not in sum_up
    assert "It fits." in browser.get(summary, sent(south, "volcano")).content.decode()
    assert browser.post(form, sent(south, "volcano")).status_code == 302
    order = Order.objects.get()
    assert order.stack == Stack.VOLCANO
    text = browser.get(f"/t/{tenant.slug}/orders/{order.pk}/").content.decode()
    assert "Kubernetes with Volcano at Site South" in text


def test_the_service_and_the_api_refuse_it_too(tenant: Tenant) -> None:
    north, south = site_with("Site North", "slurm"), site_with("Site South", "slurm", "volcano")
    actor = actor_for(owner_of(tenant), tenant)
    asked = request_for(north)
    with pytest.raises(BadInput) as refused:
        submit_order(
            actor=actor, key=uuid.uuid4(), request=type(asked)(north, "gpu-a", asked.pools, Stack.VOLCANO)
        )
    assert refused.value.fields == {"stack": "Site North offers: Slurm."}
    token = make_token(owner_of(tenant), tenant)
    body = {
        "name": "gpu-a",
        "stack": "volcano",
        "site": str(north.pk),
        "pools": [{"name": "train", "offering": str(Offering.objects.get(site=north).pk), "count": 1}],
    }
    here = f"/api/v1/t/{tenant.slug}/"
    answer = send(token, "post", f"{here}orders/", body, key="k1")
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["stack"])
    body |= {"site": str(south.pk)}
    body["pools"] = [{"name": "train", "offering": str(Offering.objects.get(site=south).pk), "count": 1}]
    assert send(token, "post", f"{here}orders/", body, key="k2").status_code == 201
    catalogue = send(token, "get", f"{here}catalogue/").json()
    stacks = {row["site"]["slug"]: row["site"]["stacks"] for row in catalogue["items"]}
    assert stacks == {"site-north": ["slurm"], "site-south": ["slurm", "volcano"]}


def test_a_cluster_without_slurm_shows_nothing_of_it(client: Client, tenant: Tenant) -> None:
    cluster = make_volcano_cluster(tenant)
    for tab in ("", "nodes/", "steps/", "events/", "access/", "settings/", "volcano/"):
        text = page(client, tenant, f"clusters/{cluster.pk}/{tab}")
        assert "/queue/" not in text, tab
        assert "jobs/new/" not in text, tab
        assert "slurmrestd" not in text, tab
    overview = page(client, tenant, f"clusters/{cluster.pk}/")
    assert "Get a kubeconfig" in overview
    assert "Kubernetes with Volcano" in overview
    assert "Running jobs" not in overview
    assert "jobs/quick/" not in page(client, tenant, "")
    jobs = page(client, tenant, "jobs/")
    assert "Jobs run in clusters with Slurm" in jobs
    assert cluster.name not in jobs


@pytest.mark.parametrize("url", ["queue/", "jobs/new/"])
def test_slurms_pages_of_such_a_cluster_say_that_there_is_none(
    client: Client, tenant: Tenant, url: str
) -> None:
    with_slurm = make_cluster(tenant, make_site(), name="with-slurm", phase=Phase.READY)
    browser = sign_in(client, owner_of(tenant))
    assert browser.get(f"/t/{tenant.slug}/clusters/{with_slurm.pk}/{url}").status_code == 200
    cluster = make_volcano_cluster(tenant)
    answer = browser.get(f"/t/{tenant.slug}/clusters/{cluster.pk}/{url}")
    assert answer.status_code == 404
    assert "This cluster has no Slurm." in answer.content.decode()


def test_the_list_of_jobs_offers_only_clusters_with_slurm(client: Client, tenant: Tenant) -> None:
    site = make_site()
    make_cluster(tenant, site, name="first", nodes=1, phase=Phase.READY)
    make_volcano_cluster(tenant, name="batch")
    # one cluster with Slurm: no choice to make
    assert sign_in(client, owner_of(tenant)).get(f"/t/{tenant.slug}/jobs/new/").status_code == 302
    make_cluster(tenant, site, name="second", nodes=1, phase=Phase.READY)
    for url in ("jobs/", "jobs/new/"):
        text = page(client, tenant, url)
        assert ">first<" in text
        assert ">second<" in text
        assert ">batch<" not in text


def test_quick_submit_and_the_api_say_so_as_well(client: Client, tenant: Tenant) -> None:
    cluster = make_volcano_cluster(tenant)
    data = {"key": str(uuid.uuid4()), "template": "progress", "cluster": str(cluster.pk)}
    quick = sign_in(client, owner_of(tenant)).post(f"/t/{tenant.slug}/jobs/quick/", data)
    assert quick.status_code == 404
    token = make_token(owner_of(tenant), tenant)
    here = f"/api/v1/t/{tenant.slug}/clusters/{cluster.pk}"
    job = {"script": "#!/bin/bash\ntrue\n"}
    for method, url, body in (
        ("get", "queue/", None),
        ("get", "slurm/", None),
        ("post", "jobs/", job),
        ("post", "jobs/check/", job),
    ):
        answer = send(token, method, f"{here}/{url}", body, key="k")
        assert answer.status_code == 404, url
        assert "This cluster has no Slurm." in answer.content.decode(), url
    assert send(token, "get", f"{here}/volcano/").json()["seen_at"] is None


def test_a_new_member_gets_no_unix_account_where_there_is_no_slurm(tenant: Tenant) -> None:
    with_slurm = make_cluster(tenant, make_site(), name="with-slurm", phase=Phase.READY)
    cluster = make_volcano_cluster(tenant)
    generation = Cluster.objects.get(pk=cluster.pk).generation
    make_member(tenant, Role.MEMBER)
    identities.tenant_changed(tenant)
    assert SlurmIdentity.objects.filter(cluster=with_slurm, kind="member").count() == 2
    assert not SlurmIdentity.objects.filter(cluster=cluster).exists()
    assert Cluster.objects.get(pk=cluster.pk).generation == generation


def test_an_order_again_keeps_its_stack(client: Client, tenant: Tenant) -> None:
    site = site_with("Site South", "slurm", "volcano")
    order = make_order(tenant, site, planned=False)
    Order.objects.filter(pk=order.pk).update(stack=Stack.VOLCANO)
    text = page(client, tenant, f"orders/new/?from={order.pk}")
    assert '<option value="volcano" selected>' in text
