"""Volcano's queues and jobs: seen by a worker, kept with their age, shown to the tenant."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters.kube import volcano
from clusters.models import Cluster, ClusterSecret, Phase, WorkloadSnapshot
from clusters.services import workloads
from clusters.tasks import look_at_workloads, look_at_workloads_due
from portal.lib import clock
from tenants.live.topics import version_of
from tenants.models import Tenant
from tests.builders import make_tenant, sign_in
from tests.clusters.builders import make_cluster, make_site, owner_of
from tests.clusters.fakes import World
from tests.clusters.kubes import MemoryKube, answering
from tests.clusters.volcanoes import job, make_volcano_cluster, put, queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant(world: World) -> Tenant:
    return make_tenant()


@pytest.fixture
def cluster(tenant: Tenant) -> Cluster:
    return make_volcano_cluster(tenant)


def page(client: Client, cluster: Cluster) -> str:
    browser = sign_in(client, owner_of(cluster.tenant))
    answer = browser.get(f"/t/{cluster.tenant.slug}/clusters/{cluster.pk}/volcano/")
    assert answer.status_code == 200
    return answer.content.decode()


def look(cluster: Cluster, *manifests: dict[str, Any]) -> WorkloadSnapshot:
    with answering() as kube:
        put(kube, *manifests)
        look_at_workloads(str(cluster.pk))
    return WorkloadSnapshot.objects.get(cluster=cluster)


def test_queues_and_jobs_are_shown_with_their_age(client: Client, cluster: Cluster) -> None:
    assert "Not looked at yet" in page(client, cluster)
    look(
        cluster,
        queue("research", capability={"cpu": "32", "nvidia.com/gpu": 8}, deserved={"cpu": "16"}),
        queue("old", status={"state": "Closed"}),
        job("train-7b", message="waits"),
        job("ended", "Completed"),
    )
    text = page(client, cluster)
    for part in (
        f'id="live-cluster-volcano-{cluster.pk.hex}"',
        "data-as-of",
        "research",
        "nvidia.com/gpu 8",
        "Closed",
        "train-7b",
        "worker × 4",  # noqa: RUF001
        "2, 4",  # pod groups running, waiting
        "Completed",
    ):
        assert part in text


def test_what_is_not_over_comes_first_and_very_many_are_cut(client: Client, cluster: Cluster) -> None:
    many = [
        job(f"done-{number:03}", "Completed", made=f"2026-11-30T11:00:{number % 60:02}Z")
        for number in range(volcano.MOST_JOBS)
    ]
    seen = look(cluster, *many, job("old-and-running", made="2026-11-01T00:00:00Z"))
    assert (len(seen.jobs), seen.jobs_all) == (volcano.MOST_JOBS, volcano.MOST_JOBS + 1)
    assert seen.jobs[0]["name"] == "old-and-running"
    assert "The first 100 of 501" in page(client, cluster)


def test_what_a_tenants_server_sends_is_taken_for_no_more_than_it_is(cluster: Cluster) -> None:
    odd = job("x" * 400)
    odd["spec"] = {"minAvailable": "many", "tasks": ["no mapping", {"name": 5, "replicas": True}]}
    odd["status"] = ["no mapping"]
    odd["metadata"]["creationTimestamp"] = "yesterday"
    hollow = queue("hollow", weight=-3, capability=["cpu"], status=None)
    seen = look(cluster, odd, hollow)
    (row,) = seen.jobs
    assert (len(row["name"]), row["min_available"], row["phase"], row["created_at"]) == (253, 0, "", None)
    assert row["tasks"] == [{"name": "", "replicas": 0}, {"name": "", "replicas": 0}]
    (first,) = seen.queues
    assert (first["weight"], first["capability"], first["state"]) == (0, {}, "Unknown")


def test_no_answer_keeps_what_was_seen_and_says_since_when(client: Client, cluster: Cluster) -> None:
    look(cluster, queue("research"))
    before = version_of(workloads.topic(cluster))
    down = MemoryKube()
    down.is_down = True
    with answering(down):
        look_at_workloads(str(cluster.pk))
        look_at_workloads(str(cluster.pk))
    seen = WorkloadSnapshot.objects.get(cluster=cluster)
    assert (len(seen.queues), seen.failures, seen.trouble) == (1, 2, "KubeNotReachable")
    assert seen.seen_at is not None
    assert version_of(workloads.topic(cluster)) == before + 1  # told once
    text = page(client, cluster)
    assert "The queues could not be looked at" in text
    assert "research" in text
    assert look(cluster).unreachable_since is None


def test_a_cluster_without_access_yet_is_no_error(client: Client, cluster: Cluster) -> None:
    ClusterSecret.objects.filter(cluster=cluster).delete()
    look_at_workloads(str(cluster.pk))
    assert WorkloadSnapshot.objects.get(cluster=cluster).trouble == "NoAccessYet"
    assert "The portal has no access" in page(client, cluster)


def test_only_clusters_with_volcano_are_looked_at_and_only_when_it_is_time(
    tenant: Tenant, cluster: Cluster
) -> None:
    make_cluster(tenant, make_site(), name="with-slurm", phase=Phase.READY)
    now = clock.now()
    with time_machine.travel(now, tick=False):
        assert workloads.due(now) == [cluster.pk]
        look(cluster)
    assert workloads.due(now) == []
    assert workloads.due(now + dt.timedelta(seconds=16)) == [cluster.pk]
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False)
    assert workloads.due(now + dt.timedelta(seconds=16)) == []
    look_at_workloads_due()


def test_an_older_look_that_ends_later_writes_nothing(cluster: Cluster) -> None:
    look(cluster, queue("new"))
    with time_machine.travel(clock.now() - dt.timedelta(minutes=1), tick=False):
        assert [row["name"] for row in look(cluster, queue("old")).queues] == ["new"]


def test_nothing_changed_is_no_news(cluster: Cluster) -> None:
    look(cluster, queue("research"))
    before = version_of(workloads.topic(cluster))
    look(cluster, queue("research"))
    assert version_of(workloads.topic(cluster)) == before


def test_a_cluster_with_slurm_has_no_such_page(client: Client, tenant: Tenant) -> None:
    slurm = make_cluster(tenant, make_site(), name="with-slurm", phase=Phase.READY)
    browser = sign_in(client, owner_of(tenant))
    answer = browser.get(f"/t/{tenant.slug}/clusters/{slurm.pk}/volcano/")
    assert answer.status_code == 404
    assert "This cluster has no Volcano." in answer.content.decode()
    assert "/volcano/" not in browser.get(f"/t/{tenant.slug}/clusters/{slurm.pk}/").content.decode()


def test_the_page_costs_the_same_however_many_jobs(
    client: Client, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    look(cluster, queue(), *(job(f"job-{number}") for number in range(80)))
    browser = sign_in(client, owner_of(cluster.tenant))
    url = f"/t/{cluster.tenant.slug}/clusters/{cluster.pk}/volcano/"
    browser.get(url)
    with django_assert_num_queries(12):
        browser.get(url)
