"""Lists of jobs: what filters leave, in which order, by whole pages, with an array as one line."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client

from clusters.models import Cluster
from jobs.filters import COLUMNS, SORTS, Filter
from jobs.listing import list_jobs, list_queue
from jobs.models import Job
from jobs.observer import lines
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, sign_in
from tests.cases import case
from tests.jobs.builders import make_job, make_slurm_cluster
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.django_db
JOBS = "/t/aurora-lab/jobs/"


def get(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def names_in(page: str) -> list[str]:
    """The jobs of the table, in its order."""
    return re.findall(r'class="main-cell"><a href="[^"]+">([^<]*)<', page)


@pytest.fixture
def several(tenant: Tenant, alice: User, cluster: Cluster) -> User:
    """Six jobs of two people that differ in everything by which one can filter; the other person."""
    bob = make_member(tenant, Role.MEMBER)
    other = make_slurm_cluster(tenant, name="gpu-b")
    day = dt.datetime(2026, 3, 10, 12, tzinfo=dt.UTC)
    make_job(cluster, alice, name="plain", submit_time=day)
    make_job(cluster, alice, name="small", partition="debug", gpus=0, submit_time=day - dt.timedelta(days=1))
    make_job(
        cluster, alice, name="paid", account="grant-7", gpus=None, submit_time=day + dt.timedelta(days=1)
    )
    make_job(cluster, bob, name="of-bob", state="PENDING", gpus=8, submit_time=day + dt.timedelta(days=2))
    make_job(other, alice, name="elsewhere", submit_time=day + dt.timedelta(days=3))
    make_job(cluster, name="by-hand", user_name="root", submit_time=day + dt.timedelta(days=4))
    return bob


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("", "by-hand elsewhere of-bob paid plain small"),
        ("partition=debug", "small"),
        ("account=grant-7", "paid"),
        ("gpus=with", "by-hand elsewhere of-bob plain"),
        ("gpus=without", "paid small"),
        ("user={bob}", "of-bob"),
        ("user=root", "by-hand"),
        ("text=SMA", "small"),
        ("state=pending", "of-bob"),
        ("since=2026-03-11", "by-hand elsewhere of-bob paid"),
        ("until=2026-03-10", "plain small"),
        ("since=2026-03-10&until=2026-03-10", "plain"),
        ("since=2026-03-10T12:30", "by-hand elsewhere of-bob paid"),
        ("since=tomorrow&gpus=many&sort=luck", "by-hand elsewhere of-bob paid plain small"),
        ("partition=debug&account=grant-7", ""),
    ],
)
def test_each_filter_leaves_what_it_names(
    client: Client, alice: User, several: User, query: str, left: str
) -> None:
    page = get(sign_in(client, alice), f"{JOBS}?who=everyone&{query.format(bob=several.pk)}")
    assert sorted(names_in(page)) == left.split()


def test_the_queue_has_the_same_filters(client: Client, alice: User, several: User, cluster: Cluster) -> None:
    path = f"/t/aurora-lab/clusters/{cluster.pk}/queue/"
    sign_in(client, alice)
    assert sorted(names_in(get(client, path))) == ["by-hand", "of-bob", "paid", "plain", "small"]
    assert names_in(get(client, f"{path}?user={several.pk}")) == ["of-bob"]
    assert names_in(get(client, f"{path}?gpus=without&sort=name")) == ["paid", "small"]
    assert "No job of this queue matches" in get(client, f"{path}?account=nobody")


@pytest.mark.parametrize("sort", ["", *SORTS])
@pytest.mark.parametrize("queue", [False, True])
def test_pages_of_every_order_show_each_job_once(
    tenant: Tenant, alice: User, cluster: Cluster, sort: str, queue: bool
) -> None:
    now = clock.now().replace(microsecond=0)
    for number in range(47):
        make_job(
            cluster,
            alice,
            state=("RUNNING", "PENDING", "SUSPENDED" if queue else "FAILED")[number % 3],
            name=f"same-{number % 4}",
            gpus=(None, 0, 1, 8)[number % 4],
            submit_time=now - dt.timedelta(minutes=number % 5),
        )
    actor, seen, after = actor_for(alice, tenant), [], ""
    for _ in range(10):
        wanted = Filter(sort=sort)
        page = (
            list_queue(actor, cluster, wanted, after=after, size=7)
            if queue
            else list_jobs(actor, wanted, after=after, size=7)
        )
        seen += page.rows
        if not (after := page.after):
            break
    assert len(seen) == len({row.pk for row in seen}) == 47
    every: dict[str, list[Any]] = {
        "submitted": [row.submit_time for row in seen],
        "name": [row.name for row in seen],
        "gpus": [row.gpus or 0 for row in seen],
    }
    if keys := every.get(sort.lstrip("-")):
        assert keys == sorted(keys, reverse=sort.startswith("-"))


@pytest.mark.parametrize(
    "after", ["x", "1~2~3", "bnVsbA", "WyIAIiwyLDNd", "W10", "=" * 9, "\N{GRINNING FACE}"]
)
@pytest.mark.parametrize("sort", ["", "name", "-gpus"])
def test_a_place_that_is_none_is_the_beginning(
    client: Client, alice: User, several: User, after: str, sort: str
) -> None:
    sign_in(client, alice)
    page = get(client, f"{JOBS}?sort={sort}&after={after}")
    assert names_in(page) == names_in(get(client, f"{JOBS}?sort={sort}"))


def test_a_place_of_another_order_is_the_beginning(tenant: Tenant, alice: User, several: User) -> None:
    actor = actor_for(alice, tenant)
    place = list_jobs(actor, Filter(sort="name"), size=1).after
    assert place
    assert len(list_jobs(actor, Filter(sort="gpus"), after=place).rows) == 4


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_sorted_like_others(tenant: Tenant, alice: User, cluster: Cluster, name: str) -> None:
    for text in ("a", name * 4, "z"):
        make_job(cluster, alice, name=text)
    actor, found, after = actor_for(alice, tenant), [], ""
    for _ in range(3):
        page = list_jobs(actor, Filter(sort="name"), after=after, size=1)
        found += [row.name for row in page.rows]
        after = page.after
    assert sorted(found) == sorted(["a", name * 4, "z"])


@case("U12")
def test_an_array_is_one_line_and_its_tasks_are_found_by_id(
    client: Client, alice: User, cluster: Cluster
) -> None:
    of_array: JSONDict = {"name": "sweep", "array_job_id": 500}
    array = [
        make_job(
            cluster, alice, state="PENDING", slurm_job_id=500, array_tasks="8-10%2", task_count=3, **of_array
        ),
        make_job(cluster, alice, state="FAILED", slurm_job_id=506, array_task_id=6, **of_array),
        make_job(cluster, alice, slurm_job_id=507, array_task_id=7, **of_array),
    ]
    for row in array:
        row.is_line = not lines.is_behind(row)
        row.save(update_fields=["is_line"])
    lines.fold(array)
    make_job(cluster, alice, name="single", state="PENDING")
    sign_in(client, alice)
    page = get(client, JOBS)
    assert names_in(page) == ["sweep", "single"]  # a task runs: before what waits
    assert "5 tasks: Running 1, Pending 3, Failed 1" in page
    assert f'href="/t/aurora-lab/jobs/{array[0].pk}/tasks/"' in page
    for query, found in (
        ("state=failed", ["sweep"]),  # one task is enough
        ("state=running", ["sweep"]),
        ("state=completed", []),
        ("text=500", ["sweep"]),
        ("text=507", ["sweep"]),
        ("text=500_6", ["sweep"]),
    ):
        assert names_in(get(client, f"{JOBS}?{query}")) == found, query
    assert ">500_6<" in get(client, f"{JOBS}?text=500_6")


@pytest.mark.parametrize("columns", [*COLUMNS, "id,partition,account,qos,cpus,nodes,memory,limit,started"])
def test_columns_are_chosen_and_never_more_than_seven(
    client: Client, alice: User, several: User, columns: str
) -> None:
    page = get(sign_in(client, alice), f"{JOBS}?columns={columns}")
    heads = (
        page.partition("<thead>")[2].partition("</thead>")[0].count("<th") - 2
    )  # the tick, <thead> excepted
    chosen = columns.split(",")[:6]
    assert heads + 1 == len(chosen) + 1
    assert str(COLUMNS[chosen[0]]) in page
    assert names_in(page)


def test_a_head_sorts_and_turns_round(client: Client, alice: User, several: User) -> None:
    sign_in(client, alice)
    page = get(client, JOBS)
    assert 'href="?sort=-gpus"' in page
    page = get(client, f"{JOBS}?sort=-gpus&partition=train")
    assert 'aria-sort="descending"' in page
    assert 'href="?partition=train&amp;sort=gpus"' in page


def test_nobody_sees_jobs_of_another_tenant_whatever_is_asked(
    client: Client, alice: User, several: User, cluster: Cluster
) -> None:
    eve = make_member(make_tenant("Other", owner=None), Role.OWNER)
    sign_in(client, eve)
    number = Job.objects.filter(cluster=cluster).values_list("slurm_job_id", flat=True)[0]
    for query in (
        "",
        f"text={number}",
        f"user={alice.pk}",
        f"cluster={cluster.pk}",
        "sort=name",
        "gpus=with",
    ):
        assert names_in(get(client, f"/t/other/jobs/?who=everyone&{query}")) == [], query
