"""The overview for each kind of person: who orders, who computes, who only looks, and the operator."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from clusters.models import Allocation, Cluster, Node, Order, Phase, SlurmEndpoint, StepState, StepStatus
from clusters.services.decisions import reject_order
from jobs import live
from jobs.models import Job, Submission
from portal.lib import clock
from tenants.live.topics import versions_of
from tenants.models import Membership, Role, Tenant, User
from tests.builders import make_member, make_tenant, sign_in
from tests.clusters import fakes
from tests.clusters.builders import make_cluster, make_order, make_site, operator, owner_of
from tests.jobs.builders import make_job, make_slurm_cluster
from tests.jobs.fakes import install

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]


@pytest.fixture(autouse=True)
def world(tmp_path: Path) -> Iterator[fakes.World]:
    """Sites with the fake driver."""
    yield fakes.install(tmp_path)
    fakes.uninstall()


@pytest.fixture
def tenant() -> Tenant:
    make_site(machines=30)
    return make_tenant()


@pytest.fixture
def owner(tenant: Tenant) -> User:
    return owner_of(tenant)


def look(client: Client, who: User, path: str = "/t/aurora-lab/") -> str:
    answer = sign_in(client, who).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_who_orders_sees_money_people_and_what_needs_attention(
    client: Client, tenant: Tenant, owner: User
) -> None:
    cluster = make_slurm_cluster(tenant)
    hour_ago = clock.now() - dt.timedelta(hours=1)
    Cluster.objects.filter(pk=cluster.pk).update(ready_at=hour_ago)
    Allocation.objects.update(allocated_at=hour_ago)
    Node.objects.filter(name="n0").update(available=False)
    SlurmEndpoint.objects.update(unreachable_since=clock.now())
    reject_order(actor=operator(), order=make_order(tenant, name="too-much"), note="Too much.")
    text = look(client, owner)
    for part in (
        "Cost so far in",
        "1 of 2 nodes is down or drained.",
        "Slurm does not answer.",
        "An operator rejected it",
        f"/t/aurora-lab/clusters/{cluster.pk}/nodes/",
    ):
        assert part in text
    if clock.now().day > 1 or clock.now().hour > 1:  # the month began before the hour did
        assert "€\xa025.00" in text


def test_a_node_that_slurm_has_not_heard_from_is_not_down(
    client: Client, tenant: Tenant, owner: User
) -> None:
    cluster = make_slurm_cluster(tenant)
    nodes = Node.objects.filter(cluster=cluster)
    nodes.update(available=False, state="DOWN")
    assert "2 of 2 nodes are down or drained." in look(client, owner)
    nodes.update(available=False, state="UNKNOWN")  # a slurmctld that was just started
    assert "down or drained" not in look(client, owner)
    assert "has not heard from it yet" in look(client, owner, f"/t/aurora-lab/clusters/{cluster.pk}/nodes/")


def test_a_node_that_leaves_is_not_down(client: Client, tenant: Tenant, owner: User) -> None:
    cluster = make_slurm_cluster(tenant)
    Node.objects.filter(name="n1").update(available=False, state="IDLE+DRAIN")
    assert "1 of 2 nodes is down or drained." in look(client, owner)
    cluster.pools.update(count=1)
    assert "down or drained" not in look(client, owner)


def test_a_researcher_sees_own_jobs_and_no_money(client: Client, tenant: Tenant, owner: User) -> None:
    cluster = make_slurm_cluster(tenant)
    rui = make_member(tenant, Role.MEMBER)
    make_job(cluster, rui, name="mine-runs", gpus=3)
    make_job(cluster, rui, name="mine-failed", state="FAILED", exit_status=2)
    make_job(cluster, owner, name="not-mine")
    text = look(client, rui)
    for part in ("mine-runs", "mine-failed", "Run a template", "Hello, GPU", 'id="live-my-overview-'):
        assert part in text
    for part in ("not-mine", "Cost so far", "€"):
        assert part not in text
    assert text.index("My jobs") < text.index("<h2>Clusters</h2>")
    assert "my-jobs" not in text  # only the topics of this page


def test_a_viewer_sees_clusters_and_is_offered_nothing_to_run(client: Client, tenant: Tenant) -> None:
    make_slurm_cluster(tenant)
    text = look(client, make_member(tenant, Role.VIEWER))
    assert "gpu-a" in text
    for part in ("Run a template", "My jobs", "New job", "Order a cluster"):
        assert part not in text


def test_a_changed_job_changes_the_overview_of_its_owner_alone(tenant: Tenant, owner: User) -> None:
    job = make_job(make_slurm_cluster(tenant), owner)
    other = make_member(tenant, Role.MEMBER)
    topics = live.of_jobs([job])
    mine = Membership.objects.get(user=owner).pk
    assert any(topic.kind == live.MY_OVERVIEW and topic.object_id == mine for topic in topics)
    assert not any(topic.object_id == Membership.objects.get(user=other).pk for topic in topics)
    assert versions_of(topics) == {topic.name: 0 for topic in topics}


def test_the_overview_needs_as_many_queries_for_many_rows(
    client: Client, tenant: Tenant, owner: User
) -> None:
    counts = []
    for number in range(3):
        cluster = make_slurm_cluster(tenant, name=f"gpu-{number}")
        make_order(tenant, name=f"order-{number}")
        for _ in range(9):  # more than are shown: the list ends with what is at work
            make_job(cluster, owner)
        look(client, owner)
        with CaptureQueriesContext(connection) as queries:
            client.get("/t/aurora-lab/")
        counts.append(sum(query["sql"].startswith("SELECT") for query in queries))
    assert len(set(counts)) == 1, counts


def test_a_template_runs_in_one_press_and_once(
    client: Client, tenant: Tenant, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    cluster = make_slurm_cluster(tenant)
    sign_in(client, owner)
    sent = {"cluster": str(cluster.pk), "template": "progress", "key": str(uuid.uuid4())}
    first = client.post("/t/aurora-lab/jobs/quick/", sent)
    again = client.post("/t/aurora-lab/jobs/quick/", sent)
    assert first["Location"] == again["Location"] == f"/t/aurora-lab/jobs/{Job.objects.get().pk}/"
    assert Submission.objects.get().script.startswith("#!/usr/bin/env python3")


@pytest.mark.parametrize("wrong", [{"template": "none"}, {"key": "no"}])
def test_an_incomplete_quick_form_is_refused(
    client: Client, tenant: Tenant, owner: User, wrong: dict[str, str]
) -> None:
    cluster = make_slurm_cluster(tenant)
    sign_in(client, owner)
    sent = {"cluster": str(cluster.pk), "template": "progress", "key": str(uuid.uuid4())}
    assert client.post("/t/aurora-lab/jobs/quick/", sent | wrong).status_code == 400
    assert not Submission.objects.exists()


def test_a_template_that_the_cluster_does_not_take_leads_to_the_form(
    client: Client, tenant: Tenant, owner: User
) -> None:
    cluster = make_slurm_cluster(tenant)
    cluster.partitions.update(max_time_minutes=1)
    sign_in(client, owner)
    sent = {"cluster": str(cluster.pk), "template": "progress", "key": str(uuid.uuid4())}
    answer = client.post("/t/aurora-lab/jobs/quick/", sent)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "Nothing was submitted" in page
    assert escape("STEPS = int") in page
    assert f'action="/t/aurora-lab/clusters/{cluster.pk}/jobs/new/"' in page
    assert sent["key"] not in page  # a second press is a submit of its own
    assert not Submission.objects.exists()


def test_the_operator_sees_what_waits_the_oldest_first(client: Client, tenant: Tenant) -> None:
    first = make_order(tenant, name="waits-long")
    second = make_order(tenant, name="waits-short")
    Order.objects.filter(pk=first.pk).update(submitted_at=clock.now() - dt.timedelta(days=2))
    stalled = make_cluster(make_tenant("Boreas"), name="stuck", phase=Phase.PROVISIONING)
    StepState.objects.create(
        cluster=stalled,
        name="slurm",
        position=3,
        status=StepStatus.STALLED,
        reason="NameTaken",
        hint="Find out who.",
        since=clock.now(),
    )
    who = operator().user
    assert who is not None
    text = look(client, who, "/operations/")
    assert text.index("waits-long") < text.index("waits-short")
    for part in (
        "28 free",
        "Boreas",
        "NameTaken",
        "Find out who.",
        "2 in use",
        "Being built",
        f"/operations/clusters/order/{second.pk}/change/",
        "Clusters by phase",
    ):
        assert part in text


def test_the_operator_is_told_when_nothing_waits(client: Client, tenant: Tenant) -> None:
    make_cluster(tenant, phase=Phase.READY)
    who = operator().user
    assert who is not None
    text = look(client, who, "/operations/")
    assert "Nothing waits." in text
    assert "decided by" in text
