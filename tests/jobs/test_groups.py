"""The page of an array or set: a cell for each task, whether it has a record yet or not, and a list."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster
from jobs import live
from jobs.groups import group_of, task_numbers
from jobs.models import Job
from jobs.observer import lines
from tenants.models import Role, Tenant, User
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.jobs.builders import make_array, make_job
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.django_db


def tasks_page(client: Client, job: Job, query: str = "") -> str:
    answer = client.get(f"/t/aurora-lab/jobs/{job.pk}/tasks/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def cells_of(page: str) -> list[str]:
    """What each cell says to those who hear it."""
    return re.findall(r'<a id="cell-\d+"[^>]*><span class="vh">([^<]+)</span><svg', page)


def keys_of(page: str) -> list[str]:
    """How many there are in each state."""
    keys = page.partition('class="keys"')[2].partition("</ul>")[0]
    return [" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in re.findall(r"<li>(.*?)</li>", keys)]


@case("U12")
def test_every_task_has_a_cell_with_word_and_icon_and_a_place_in_the_list(
    client: Client, alice: User, cluster: Cluster
) -> None:
    line = make_array(cluster, alice)
    page = tasks_page(sign_in(client, alice), line)
    assert cells_of(page) == [
        *(f"Task {number}: Completed" for number in range(1, 6)),
        "Task 6: Failed",
        "Task 7: Running",
        *(f"Task {number}: Pending" for number in (8, 9, 10)),
    ]
    assert keys_of(page) == ["All 10", "Running 1", "Pending 3", "Failed 1", "Completed 5"]
    assert "3 tasks wait: 8-10%2" in page
    listed = re.findall(r'class="main-cell mono"><a href="[^"]+">([^<]+)<', page)
    assert listed == [f"{line.array_job_id}_{number}" for number in range(1, 8)]
    seven = Job.objects.get(array_task_id=7)
    assert page.count(f'name="job" value="{seven.pk}"') == 1
    assert page.count('form="selection" name="job"') == 1, "only what has not ended can be chosen"
    assert f'id="cell-7" class="tone-blue" href="/t/aurora-lab/jobs/{seven.pk}/"' in page


def test_one_state_is_listed_and_pages_go_on(client: Client, alice: User, cluster: Cluster) -> None:
    line = make_array(cluster, alice)
    sign_in(client, alice)
    page = tasks_page(client, line, "?state=FAILED")
    assert re.findall(r'main-cell mono"><a href="[^"]+">([^<]+)<', page) == [f"{line.array_job_id}_6"]
    assert len(cells_of(page)) == 10
    assert "No task in this state" in tasks_page(client, line, "?state=TIMEOUT")
    assert f"{line.array_job_id}_6<" in tasks_page(client, line, "?after=5")
    assert f"{line.array_job_id}_5<" not in tasks_page(client, line, "?after=5")
    assert cells_of(tasks_page(client, line, "?from=9"))[0] == "Task 9: Pending"
    for nonsense in ("?state=x&from=y&after=z", "?from=99999999999999999999", "?after=-1&from=-1"):
        assert len(cells_of(tasks_page(client, line, nonsense))) == 10


def test_any_task_leads_to_the_page_and_a_single_job_to_its_own(
    client: Client, alice: User, cluster: Cluster
) -> None:
    line = make_array(cluster, alice)
    single = make_job(cluster, alice)
    sign_in(client, alice)
    task = Job.objects.get(array_task_id=6)
    jobs = "/t/aurora-lab/jobs"
    assert client.get(f"{jobs}/{task.pk}/tasks/")["Location"] == f"{jobs}/{line.pk}/tasks/"
    assert client.get(f"{jobs}/{single.pk}/tasks/")["Location"] == f"{jobs}/{single.pk}/"
    assert f"{jobs}/{task.pk}/tasks/" in client.get(f"{jobs}/{task.pk}/").content.decode()


@case("U12")
def test_parts_of_a_set_stand_under_its_id(client: Client, alice: User, cluster: Cluster) -> None:
    parts = [
        make_job(
            cluster,
            alice,
            name="coupled",
            slurm_job_id=900 + n,
            het_job_id=900,
            het_offset=n,
            gpus=n,
            is_line=not n,
        )
        for n in range(3)
    ]
    lines.fold(parts)
    sign_in(client, alice)
    page = tasks_page(client, parts[0])
    assert cells_of(page) == [f"Part {n}: Running" for n in range(3)]
    assert keys_of(page) == ["All 3", "Running 3"]
    listing = client.get("/t/aurora-lab/jobs/").content.decode()
    assert listing.count(">coupled<") == 1
    assert re.search(r'<td class="num" data-label="GPUs">3</td>', listing), "GPUs of all parts"


def test_a_large_array_is_cut_into_pages_and_costs_the_same(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    line = make_job(
        cluster,
        alice,
        state="PENDING",
        slurm_job_id=7000,
        array_job_id=7000,
        array_tasks="10-9999%50,...",
        task_count=12_000,
    )
    some = [
        make_job(cluster, alice, slurm_job_id=7001 + n, array_job_id=7000, array_task_id=n, is_line=False)
        for n in range(3)
    ]
    lines.fold([line, *some])
    line.refresh_from_db()
    group = group_of(actor_for(alice, tenant), line)
    assert [cell.number for cell in group.cells[:5]] == [0, 1, 2, 10, 11]
    assert len(group.cells) == 500
    assert group.next_cell == 507
    assert group.unnamed == 12_000 - 9_990
    following = group_of(actor_for(alice, tenant), line, first=507)
    assert following.cells[0].number == 507
    sign_in(client, alice)
    with CaptureQueriesContext(connection) as large:
        assert "2010 more tasks wait" in tasks_page(client, line)
    small = make_array(cluster, alice)
    tasks_page(client, small)
    with CaptureQueriesContext(connection) as few:
        tasks_page(client, small)
    assert len(large) <= len(few) + 1


def test_an_id_that_was_used_before_has_tasks_of_its_own(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster
) -> None:

    old = make_array(cluster, alice, number=500)
    Job.objects.filter(array_job_id=500).update(first_seen_at=old.first_seen_at - dt.timedelta(days=300))
    new = make_job(cluster, alice, slurm_job_id=500, array_job_id=500, array_task_id=1)
    lines.fold([new])
    new.refresh_from_db()
    old.refresh_from_db()
    assert new.group_states == {"RUNNING": 1}
    assert old.group_states == {"PENDING": 3, "COMPLETED": 5, "FAILED": 1, "RUNNING": 1}
    actor = actor_for(alice, tenant)
    assert [cell.number for cell in group_of(actor, new).cells] == [1]
    assert len(group_of(actor, old).cells) == 10


def test_a_change_of_a_task_tells_the_page(alice: User, cluster: Cluster) -> None:
    line = make_array(cluster, alice)
    topics = live.of_jobs([Job.objects.get(array_task_id=7)])
    assert live.tasks(line) in topics
    assert live.tasks(line) not in live.of_jobs([make_job(cluster, alice)])


@case("U03")
@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_shown_escaped(client: Client, alice: User, cluster: Cluster, name: str) -> None:
    line = make_array(cluster, alice, name=name)
    page = tasks_page(sign_in(client, alice), line)
    assert "<img src=x" not in page
    assert len(cells_of(page)) == 10


def test_viewers_look_and_do_not_choose(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    line = make_array(cluster, alice)
    page = tasks_page(sign_in(client, make_member(tenant, Role.VIEWER)), line)
    assert len(cells_of(page)) == 10
    assert 'name="job"' not in page


@pytest.mark.parametrize(
    ("text", "first", "numbers"),
    [
        ("8-10%2", 0, [8, 9, 10]),
        ("0-15:4", 0, [0, 4, 8, 12]),
        ("0-15:4", 5, [8, 12]),
        ("1,3,5-7", 3, [3, 5, 6, 7]),
        ("5-7,1-6", 0, [1, 2, 3, 4, 5, 6, 7]),
        ("1-3,...", 0, [1, 2, 3]),
        ("", 0, []),
        ("9", 10, []),
    ],
)
def test_numbers_of_a_waiting_rest(text: str, first: int, numbers: list[int]) -> None:
    assert list(task_numbers(text, first)) == numbers
