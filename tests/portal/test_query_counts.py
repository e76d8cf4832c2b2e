"""Lists need the same queries for few rows and for many: the numbers are pinned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster
from tenants.models import AuditEvent, Role, Tenant, User
from tests.builders import make_member, make_tenant, sign_in
from tests.clusters import fakes
from tests.clusters.builders import make_order, make_site, operator, owner_of
from tests.jobs.builders import make_job, make_slurm_cluster

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
# SELECTs of a page, those of the frame around it and of the right to look included. A page that needs one
# more is a decision to be written here; a page that needs more for more rows is a fault.
PINNED = {
    "": 24,
    "jobs/": 17,
    "jobs/?who=everyone": 18,
    "clusters/{cluster}/queue/": 14,
    "clusters/": 6,
    "orders/": 7,
    "members/": 8,
    "audit/": 5,
    "search/?q=train": 7,
}
OPERATORS = {"/operations/": 17, "/operations/clusters/order/": 11, "/operations/jobs/job/": 8}


@pytest.fixture(autouse=True)
def world(tmp_path: Path) -> Iterator[fakes.World]:
    """Sites with the fake driver."""
    yield fakes.install(tmp_path)
    fakes.uninstall()


@pytest.fixture
def tenant() -> Tenant:
    make_site(machines=40)
    return make_tenant()


def add(tenant: Tenant, cluster: Cluster, owner: User, count: int) -> None:
    """More of everything that a list shows."""
    for number in range(count):
        make_job(cluster, owner, name=f"train-{number}", state=("RUNNING", "PENDING", "FAILED")[number % 3])
        make_order(tenant, name=f"train-{owner.pk.hex[:4]}-{AuditEvent.objects.count()}", planned=False)
        make_member(tenant, Role.MEMBER)


def selects(client: Client, address: str) -> int:
    client.get(address)  # what happens once happens here
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    assert answer.status_code == 200, address
    return sum(query["sql"].lstrip("(").startswith("SELECT") for query in queries)  # a union begins with one


def test_more_rows_need_no_more_queries(client: Client, tenant: Tenant) -> None:
    owner = owner_of(tenant)
    cluster = make_slurm_cluster(tenant, name="train-a")
    pages = {address: f"/t/aurora-lab/{address.format(cluster=cluster.pk)}" for address in PINNED}
    add(tenant, cluster, owner, 3)
    sign_in(client, owner)
    few = {address: selects(client, url) for address, url in pages.items()}
    add(tenant, cluster, owner, 9)
    many = {address: selects(client, url) for address, url in pages.items()}
    assert many == few
    assert few == PINNED


def test_operators_lists_need_no_more_queries_either(client: Client, tenant: Tenant) -> None:
    owner = owner_of(tenant)
    cluster = make_slurm_cluster(tenant, name="train-a")
    add(tenant, cluster, owner, 3)
    who = operator().user
    assert who is not None
    sign_in(client, who)
    few = {url: selects(client, url) for url in OPERATORS}
    add(tenant, cluster, owner, 9)
    many = {url: selects(client, url) for url in OPERATORS}
    assert many == few
    assert few == OPERATORS
