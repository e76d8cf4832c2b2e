"""The search box: by id and name, within the tenant of the address, grouped and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.models import Tenant, User
from tests.builders import make_tenant, sign_in
from tests.clusters import fakes
from tests.clusters.builders import make_order, make_site, owner_of
from tests.jobs.builders import make_job, make_slurm_cluster

pytestmark = pytest.mark.django_db


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
def owner(client: Client, tenant: Tenant) -> User:
    found = owner_of(tenant)
    sign_in(client, found)
    return found


def find(client: Client, q: str) -> str:
    answer = client.get("/t/aurora-lab/search/", {"q": q})
    assert answer.status_code == 200
    return answer.content.decode()


def test_jobs_are_found_by_id_task_and_name(client: Client, tenant: Tenant, owner: User) -> None:
    cluster = make_slurm_cluster(tenant)
    make_job(cluster, owner, name="alpha-4711", slurm_job_id=99)
    make_job(cluster, owner, name="beta", slurm_job_id=4711)
    make_job(cluster, owner, name="task-seven", slurm_job_id=507, array_job_id=500, array_task_id=7)
    make_job(cluster, owner, name="task-eight", slurm_job_id=508, array_job_id=500, array_task_id=8)
    by_id = find(client, "4711")
    assert "beta" in by_id
    assert "alpha" not in by_id  # an id that exists is what was meant
    assert "alpha-4711" in find(client, "PHA-47")
    task = find(client, "500_7")
    assert "task-seven" in task
    assert "task-eight" not in task
    assert all(name in find(client, "500") for name in ("task-seven", "task-eight"))


def test_clusters_and_orders_are_found_by_name(client: Client, tenant: Tenant, owner: User) -> None:
    make_slurm_cluster(tenant, name="gpu-a")
    make_order(tenant, name="gpu-waits")
    text = find(client, "gpu")
    for part in ("<h2>Clusters</h2>", "<h2>Orders</h2>", "gpu-waits", "Results for “gpu”"):
        assert part in text
    assert "<h2>Jobs</h2>" not in text


def test_other_tenants_are_not_looked_at(client: Client, tenant: Tenant, owner: User) -> None:
    other = make_tenant("Boreas")
    cluster = make_slurm_cluster(other, name="gpu-secret")
    make_job(cluster, owner_of(other), name="their-secret", slurm_job_id=31337)
    for q in ("secret", "31337"):
        assert "Nothing was found" in find(client, q)


@pytest.mark.parametrize("q", ["", " ", "\0", "%", "_", "'", "9" * 30, "<script>", "500_", "5_x", "x" * 3000])
def test_any_text_is_fine(client: Client, tenant: Tenant, owner: User, q: str) -> None:
    make_job(make_slurm_cluster(tenant), owner, name="plain")
    text = find(client, q)
    assert "<script>" not in text.partition("<main")[2]
    assert "plain" not in text


def test_results_are_bounded_and_cost_the_same(client: Client, tenant: Tenant, owner: User) -> None:
    cluster = make_slurm_cluster(tenant, name="many")
    counts = []
    for number in range(2):
        for _ in range(15):
            make_job(cluster, owner, name=f"many-{number}")
        find(client, "many")
        with CaptureQueriesContext(connection) as queries:
            text = find(client, "many")
        counts.append(len(queries))
    assert len(set(counts)) == 1
    assert "the newest 10" in text
    assert text.count(">many-") == 10
    assert "jobs/?who=everyone&amp;text=many" in text
