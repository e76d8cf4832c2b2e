"""The page and the files that show what keeps a cluster apart."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters.models import Cluster, SlurmIdentity, StepState, StepStatus
from clusters.provisioning import engine
from tenants.models import Tenant
from tests.builders import make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_site, owner_of
from tests.clusters.fakes import FakeStep, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant(world: World) -> Tenant:
    return make_tenant()


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    made = make_cluster(tenant, make_site())
    for _ in range(3):
        engine.reconcile(made.pk)
    return made


def url(cluster: Cluster, tail: str = "") -> str:
    return f"/t/{cluster.tenant.slug}/clusters/{cluster.pk}/isolation/{tail}"


def test_each_layer_has_its_component_its_last_check_and_evidence(client: Client, cluster: Cluster) -> None:
    browser = sign_in(client, owner_of(cluster.tenant))
    text = browser.get(url(cluster)).content.decode()
    for part in ("site-north-a100-4-01", "last wiped: never here", "Network", "22.05.8", "Fake"):
        assert part in text
    # what nobody checks is said, not left out
    assert "No step of this site provides or checks this." in text
    assert "See the evidence" in browser.get(url(cluster).replace("isolation/", "")).content.decode()


def test_a_layer_that_is_not_well_says_so(client: Client, cluster: Cluster) -> None:
    StepState.objects.filter(cluster=cluster, name="fabric").update(
        status=StepStatus.DRIFTED, reason="Drifted", message="switch swp7 of leaf-3"
    )
    text = sign_in(client, owner_of(cluster.tenant)).get(url(cluster)).content.decode()
    assert "Needs attention" in text
    assert "Something was changed from outside" in text
    assert "leaf-3" not in text


def test_its_tab_is_the_present_one_and_facts_read_as_words(client: Client, cluster: Cluster) -> None:
    browser = sign_in(client, owner_of(cluster.tenant))
    ours = SlurmIdentity.objects.filter(cluster=cluster).order_by("name")
    left, stays = ours[0], ours[1]
    SlurmIdentity.objects.filter(pk=left.pk).update(active=False)
    StepState.objects.filter(cluster=cluster, name="identity").update(
        component="Slurm", facts={"accounts": f"{left.name},{stays.name}", "homes": "/srv/homes"}
    )
    StepState.objects.filter(cluster=cluster, name="slurm").update(
        component="Slurm", facts={"slurm_conf": "/etc/slurm.conf", "api_version": "v0.0.38", "new_fact": "5"}
    )
    text = browser.get(url(cluster)).content.decode()
    assert re.search(r'isolation/" aria-current="page">Isolation', text)
    assert re.search(rf"Accounts:</span> {stays.name}<", text)
    assert re.search(rf"Closed, and never given to anybody else:</span> {left.name}<", text)
    assert "API version:" in text
    assert "New fact:" in text
    for inside in ("/etc/slurm.conf", "/srv/homes", "slurm_conf"):
        assert inside not in text
        assert inside not in browser.get(url(cluster).replace("isolation", "steps")).content.decode()


def test_the_files_hold_the_same(client: Client, cluster: Cluster) -> None:
    browser = sign_in(client, owner_of(cluster.tenant))
    answer = browser.get(url(cluster, "?format=json"))
    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"].startswith('attachment; filename="gpu-a-isolation-')
    layers = {one["layer"]: one for one in json.loads(answer.content)["layers"]}
    assert layers["Machines"]["status"] == "good"
    assert layers["Machines"]["checked_at"]
    assert [one["name"] for one in layers["Machines"]["evidence"]] == [
        "site-north-a100-4-01",
        "site-north-a100-4-02",
    ]
    assert layers["Other tenants' servers"]["status"] == "unknown"
    rows = list(csv.DictReader(io.StringIO(browser.get(url(cluster, "?format=csv")).content.decode())))
    assert {row["layer"] for row in rows} == set(layers)
    assert browser.get(url(cluster, "?format=exe"))["Content-Type"].startswith("text/html")


def test_facts_of_a_provider_are_no_evidence_for_tenants(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStep, "component", "Netris")
    cluster = make_cluster(tenant, make_site())
    engine.reconcile(cluster.pk)
    StepState.objects.filter(cluster=cluster, name="fabric").update(facts={"ports": "leaf-3:swp7"})
    browser = sign_in(client, owner_of(tenant))
    for tail in ("", "?format=json", "?format=csv"):
        text = browser.get(url(cluster, tail)).content.decode()
        assert "Netris" in text
        assert "leaf-3" not in text


def test_it_costs_the_same_however_many_machines(
    client: Client, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    browser = sign_in(client, owner_of(cluster.tenant))
    browser.get(url(cluster))
    with django_assert_num_queries(12):
        browser.get(url(cluster))
