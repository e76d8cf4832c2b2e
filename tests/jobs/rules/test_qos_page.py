"""The page and the operation about QOS and accounts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from clusters.clients.slurmrest.rules import Bounds, Share
from clusters.models import Cluster
from jobs.limits import service as limits
from jobs.models import Rules
from tenants.models import Tenant, User
from tests.api.calls import make_token
from tests.builders import actor_for, sign_in
from tests.clusters.builders import owner_of
from tests.jobs.builders import identity_for, keep_books, make_job
from tests.jobs.rules.builders import make_rules

pytestmark = pytest.mark.django_db
BUDGET = Bounds(minutes={"gres/gpu": 600}, together={"gres/gpu": 8})
USED = (Share(account="research", used_seconds={"gres/gpu": 240 * 60.0}),)


@pytest.fixture
def booked(cluster: Cluster, alice: User) -> Cluster:
    """A cluster whose accounting was read."""
    keep_books(cluster)
    make_rules(cluster, identity_for(cluster, alice).name, bounds=BUDGET, shares=USED)
    return cluster


def page_of(client: Client, cluster: Cluster) -> str:
    answer = client.get(f"/t/aurora-lab/clusters/{cluster.pk}/qos/")
    assert answer.status_code == 200
    text = str(answer.content.decode())
    return " ".join(text.split())


def row_of(page: str, name: str) -> str:
    rows: list[str] = re.findall(r"<tr>.*?</tr>", page)
    return next(row for row in rows if f'main-cell">{name}' in row)


def test_each_qos_says_its_priority_its_limits_who_uses_it_and_what_gives_way(
    client: Client, alice: User, booked: Cluster
) -> None:
    make_job(booked, alice, qos="high", account="research")
    make_job(booked, alice, qos="high", account="research", state="PENDING", task_count=7)
    make_job(booked, qos="high", account="vision", user_name="fhother")
    booked.partitions.update(qos="tiny")
    page = page_of(sign_in(client, alice), booked)
    high = row_of(page, "high")
    assert re.findall(r'<td class="num"[^>]*>(\d+)</td>', high) == ["100", "2", "7", "2"]
    assert "1:00:00 for a job" in high
    assert "<span>normal</span>" in high
    assert "yours" in high
    assert "yours by default" in row_of(page, "normal")
    assert "yours" not in row_of(page, "foreign")
    tiny = row_of(page, "tiny")
    assert "for all jobs in train" in tiny
    for told in (
        "running jobs of one member: 1",
        "jobs of one member that wait or run: 2",
        "3 CPUs for a job",
        "1 GPU at once of one member",
        "what is over a limit is refused at once",
    ):
        assert told in tiny
    assert page.index('main-cell">high') < page.index('main-cell">tiny') < page.index('main-cell">normal')


def test_each_account_says_what_is_left_of_its_budget(client: Client, alice: User, booked: Cluster) -> None:
    page = page_of(sign_in(client, alice), booked)
    research = row_of(page, "research")
    assert "8 GPUs at once of all together" in research
    assert "6 GPU-hours of 10 GPU-hours left" in research
    assert "yours" in research
    assert "below research" in row_of(page, "vision")
    assert "yours" not in row_of(page, "other")
    assert 'main-cell">root' not in page


@pytest.mark.parametrize(
    ("enforces", "told"),
    [
        (("limits",), "holds"),
        (None, "nobody has set a limit of a member yet"),
    ],
)
def test_it_says_whether_slurm_holds_to_them(
    client: Client, tenant: Tenant, alice: User, booked: Cluster, enforces: tuple[str, ...] | None, told: str
) -> None:
    Rules.objects.update(enforces=None if enforces is None else list(enforces))
    site = booked.site
    site.drivers = {**site.drivers, "slurm": "local"}
    site.save()
    page = page_of(sign_in(client, alice), booked)
    assert (told in page) == (enforces is None)
    if enforces is None:
        account = identity_for(booked, alice)
        assert account.membership_id is not None
        owner = actor_for(owner_of(tenant), tenant)
        limits.set_limits(actor=owner, cluster=booked, member=account.membership_id, limits={"gpus": 4})
        assert told not in page_of(client, booked)  # our configuration holds to limits from now on
        site.drivers = {**site.drivers, "slurm": "slinky"}
        site.save()
        assert "not known whether Slurm here holds" in page_of(client, booked)


def test_before_the_first_reading_and_without_accounting(
    client: Client, alice: User, cluster: Cluster
) -> None:
    sign_in(client, alice)
    address = f"/t/aurora-lab/clusters/{cluster.pk}/qos/"
    partitions = f"/t/aurora-lab/clusters/{cluster.pk}/partitions/"
    assert client.get(address).status_code == 404
    assert address not in client.get(partitions).content.decode()
    keep_books(cluster)
    assert "Not seen yet" in page_of(client, cluster)
    assert address in client.get(partitions).content.decode()


def test_the_number_of_queries_does_not_grow_with_qos_users_and_jobs(
    client: Client, alice: User, booked: Cluster, django_assert_num_queries: Callable[[int], Any]
) -> None:
    sign_in(client, alice)
    page_of(client, booked)
    with django_assert_num_queries(15):
        page_of(client, booked)
    for number in range(5):
        make_job(booked, alice, qos=f"q{number}", account=f"a{number}")
    with django_assert_num_queries(15):
        page_of(client, booked)


def test_programs_are_told_the_same(client: Client, alice: User, booked: Cluster) -> None:
    token = make_token(alice, booked.tenant)
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.get(f"/api/v1/t/aurora-lab/clusters/{booked.pk}/qos/", headers=headers).json()
    tiny = next(one for one in answer["qos"] if one["name"] == "tiny")
    assert tiny["limits"] == {
        "running": 1,
        "submitted": 2,
        "per_job": {"cpu": 3},
        "per_user": {"gres/gpu": 1},
    }
    assert (answer["holds_to_limits"], answer["qos"][0]["preempts"]) == (True, ["normal"])
    research = next(one for one in answer["accounts"] if one["name"] == "research")
    assert research["budgets"] == [
        {"resource": "gres/gpu", "limit_minutes": 600, "used_minutes": 240, "left_minutes": 360}
    ]
