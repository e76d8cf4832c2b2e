"""Where no job can be submitted now, the pages say what is so and what to do, and offer what works."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client

from clusters.models import Cluster, Phase
from portal.lib import clock
from tenants.models import Role, Tenant
from tests.builders import make_member, sign_in
from tests.clusters.builders import make_order
from tests.jobs.builders import make_job, make_slurm_cluster

pytestmark = pytest.mark.django_db
LIST, START = "/t/aurora-lab/jobs/", "/t/aurora-lab/jobs/new/"


def page(tenant: Tenant, role: Role = Role.MEMBER, path: str = LIST) -> str:
    """The main part of a page as somebody of this role gets it."""
    response = sign_in(Client(), make_member(tenant, role)).get(path)
    assert response.status_code == 200
    return str(response.content.decode()).partition("<main")[2]


def offers(text: str) -> bool:
    """Whether it leads to a form for a new job."""
    return "/jobs/new/" in text


def test_a_cluster_that_takes_jobs_is_offered(tenant: Tenant) -> None:
    make_slurm_cluster(tenant)
    assert offers(page(tenant))
    assert "No cluster" not in page(tenant)


@pytest.mark.parametrize(
    ("role", "told", "link"),
    [
        (Role.ADMIN, "Order one to run jobs.", "/t/aurora-lab/orders/new/"),
        (Role.MEMBER, "An owner or admin of your tenant can order one.", ""),
    ],
)
def test_without_any_cluster(tenant: Tenant, role: Role, told: str, link: str) -> None:
    for path in (LIST, START):
        text = page(tenant, role, path)
        assert "No cluster yet" in text
        assert told in text
        assert ("/orders/new/" in text) == bool(link)
        assert not offers(text)


def test_a_removed_cluster_is_named_and_its_jobs_stay(tenant: Tenant) -> None:
    member = make_member(tenant, Role.MEMBER)
    cluster = make_slurm_cluster(tenant, name="gpu-old")
    make_job(cluster, member, name="long-ago", state="COMPLETED")
    Cluster.objects.update(wanted=False, phase=Phase.DELETED, deleted_at=clock.now())
    text = str(sign_in(Client(), member).get(LIST).content.decode()).partition("<main")[2]
    assert "gpu-old was removed. What ran there is still listed." in text
    assert "long-ago" in text
    assert "No cluster yet" not in text
    assert not offers(text)
    assert "gpu-old was removed" in page(tenant, path=START)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"phase": Phase.PROVISIONING, "ready_at": None}, "gpu-a is being built"),
        ({"phase": Phase.FAILED}, "gpu-a is not ready"),
        ({"terminate_at": clock.now() + dt.timedelta(days=1)}, "gpu-a takes no new jobs"),
        ({"wanted": False, "phase": Phase.DELETING}, "gpu-a is being removed"),
    ],
)
def test_a_cluster_that_takes_none_now_is_named_with_the_reason(
    tenant: Tenant, columns: dict[str, object], told: str
) -> None:
    cluster = make_slurm_cluster(tenant)
    assert offers(page(tenant))
    Cluster.objects.update(**columns)
    for path in (LIST, START):
        text = page(tenant, path=path)
        assert told in text
        assert ("wanted" in columns) or f"/clusters/{cluster.pk}/" in text
    assert not offers(page(tenant))


def test_an_order_that_waits_is_named(tenant: Tenant) -> None:
    order = make_order(tenant, name="gpu-b")
    text = page(tenant)
    assert "The cluster is not approved yet" in text
    assert "gpu-b is ordered." in text
    assert f"/orders/{order.pk}/" in text
