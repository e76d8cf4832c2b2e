"""The pages of jobs as people in different roles get them."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from clusters.models import Cluster
from jobs.models import Job
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.models import Role, Tenant, User
from tests.builders import make_member, make_tenant, sign_in
from tests.cases import case
from tests.clusters.builders import operator
from tests.jobs.builders import make_job, make_submission
from tests.jobs.names import ODD_NAMES

pytestmark = pytest.mark.django_db


def get(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, response.content
    return response.content.decode()


def test_without_jobs_templates_that_run_are_offered(client: Client, alice: User, cluster: Cluster) -> None:
    page = get(sign_in(client, alice), "/t/aurora-lab/jobs/")
    assert "No jobs yet" in page
    assert page.count("?template=") >= 3


def test_running_jobs_come_first_then_waiting_then_the_latest_ended(
    client: Client, alice: User, cluster: Cluster
) -> None:
    now = clock.now()
    make_job(cluster, alice, name="ended-long-ago", state="COMPLETED", submit_time=now - dt.timedelta(days=2))
    make_job(cluster, alice, name="ended-now", state="FAILED", submit_time=now, exit_status=3)
    make_job(cluster, alice, name="waits", state="PENDING", reason="Priority", submit_time=now)
    make_job(cluster, alice, name="runs", submit_time=now - dt.timedelta(days=1))
    page = get(sign_in(client, alice), "/t/aurora-lab/jobs/")
    order = [page.index(f">{name}<") for name in ("runs", "waits", "ended-now", "ended-long-ago")]
    assert order == sorted(order)


def test_mine_and_everyones(client: Client, tenant: Tenant, alice: User, cluster: Cluster) -> None:
    bob = make_member(tenant, Role.MEMBER)
    make_job(cluster, alice, name="of-alice")
    make_job(cluster, bob, name="of-bob")
    sign_in(client, alice)
    mine = get(client, "/t/aurora-lab/jobs/")
    assert "of-alice" in mine
    assert "of-bob" not in mine
    everyones = get(client, "/t/aurora-lab/jobs/?who=everyone")
    assert "of-alice" in everyones
    assert "of-bob" in everyones


def test_filters_stand_in_the_address(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, name="alpha", state="FAILED")
    make_job(cluster, alice, name="beta")
    sign_in(client, alice)
    for query in ("state=failed", "text=alph", f"text={job.slurm_job_id}"):
        page = get(client, f"/t/aurora-lab/jobs/?{query}")
        assert ">alpha<" in page, query
        assert ">beta<" not in page, query
    assert "No job matches" in get(client, "/t/aurora-lab/jobs/?state=cancelled")
    get(client, "/t/aurora-lab/jobs/?state=%00&text=%00&cluster=x&after=1~2~3")


def test_pages_go_on_where_the_last_one_ended(client: Client, alice: User, cluster: Cluster) -> None:
    now = clock.now()
    for number in range(120):
        state = ("RUNNING", "PENDING", "COMPLETED")[number % 3]
        make_job(
            cluster,
            alice,
            name=f"job-{number:03}",
            state=state,
            submit_time=now - dt.timedelta(minutes=number // 6),
        )
    sign_in(client, alice)
    seen: list[str] = []
    path = "/t/aurora-lab/jobs/"
    while path:
        page = get(client, path)
        seen += re.findall(r">(job-\d{3})<", page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        path = f"/t/aurora-lab/jobs/{following[1]}".replace("&amp;", "&") if following else ""
    assert len(seen) == 120
    assert len(set(seen)) == 120


def test_lists_cost_the_same_for_any_number_of_rows(
    client: Client, alice: User, cluster: Cluster, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sign_in(client, alice)
    get(client, "/t/aurora-lab/jobs/")  # what happens once happens here
    counts = []
    for _ in range(2):
        for path in ("/t/aurora-lab/jobs/?who=everyone", f"/t/aurora-lab/clusters/{cluster.pk}/queue/"):
            for number in range(10):
                make_job(cluster, alice, name=f"more-{number}")
            with django_assert_max_num_queries(40) as captured:
                get(client, path)
            counts.append(len(captured))
    # a page that is full of what comes first asks for nothing else
    assert all(later <= first for first, later in zip(counts[:2], counts[2:], strict=True))


@case("U03")
@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_is_shown_escaped(client: Client, alice: User, cluster: Cluster, name: str) -> None:
    job = make_job(cluster, alice, name=name)
    sign_in(client, alice)
    for path in (
        "/t/aurora-lab/jobs/",
        f"/t/aurora-lab/jobs/{job.pk}/",
        f"/t/aurora-lab/clusters/{cluster.pk}/queue/",
    ):
        page = get(client, path)
        assert "<img src=x" not in page
        shown = page.replace("&#x27;", "'").replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">")
        assert name in shown.replace("&amp;", "&")


def test_the_queue_shows_what_has_not_ended(client: Client, alice: User, cluster: Cluster) -> None:
    make_job(cluster, alice, name="runs")
    make_job(cluster, alice, name="waits", state="PENDING", reason="Resources", task_count=8)
    make_job(cluster, alice, name="over", state="COMPLETED")
    cluster.slurm.jobs_pending = 8
    cluster.slurm.save()
    page = get(sign_in(client, alice), f"/t/aurora-lab/clusters/{cluster.pk}/queue/")
    assert ">runs<" in page
    assert ">waits<" in page
    assert ">over<" not in page
    assert "<dt>Pending</dt><dd>8</dd>" in page


@case("U16")
def test_a_silent_cluster_shows_the_last_known_state_and_since_when(
    client: Client, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice)
    cluster.slurm.unreachable_since = clock.now()
    cluster.slurm.trouble = "The cluster's Slurm API does not answer."
    cluster.slurm.save()
    sign_in(client, alice)
    for path in (
        "/t/aurora-lab/jobs/",
        f"/t/aurora-lab/jobs/{job.pk}/",
        f"/t/aurora-lab/clusters/{cluster.pk}/queue/",
        f"/t/aurora-lab/clusters/{cluster.pk}/jobs/new/",
    ):
        page = get(client, path)
        assert "not reachable since" in page, path


def test_a_waiting_job_says_why_in_plain_words(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="PENDING", reason="Resources")
    page = get(sign_in(client, alice), f"/t/aurora-lab/jobs/{job.pk}/")
    assert "waits for nodes to become free" in page
    assert "Cancel job" in page


@case("U15")
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"state": "FAILED", "exit_status": 1}, "exit code 1"),
        ({"state": "FAILED", "exit_status": 137}, "SIGKILL"),
        ({"state": "FAILED", "exit_status": 0, "exit_signal": 11}, "SIGSEGV"),
        ({"state": "FAILED", "exit_signal": 11, "reason": "JobLaunchFailure"}, "SIGSEGV"),
        ({"state": "FAILED", "exit_signal": 53, "reason": "JobLaunchFailure"}, "Slurm could not run it"),
        ({"state": "OUT_OF_MEMORY", "exit_status": 0}, "more memory than it had asked for"),
        ({"state": "TIMEOUT"}, "reached its time limit"),
        ({"state": "NODE_FAIL"}, "A node on which it ran failed"),
        ({"state": "PREEMPTED"}, "had to make room"),
        ({"state": "ENDED"}, "how it ended is not known"),
        ({"state": "COMPLETED", "exit_status": 0}, "exit code 0"),
    ],
)
def test_each_outcome_is_named_with_advice(
    client: Client, alice: User, cluster: Cluster, columns: JSONDict, told: str
) -> None:
    job = make_job(cluster, alice, **columns)
    page = get(sign_in(client, alice), f"/t/aurora-lab/jobs/{job.pk}/")
    assert told in page
    assert "Cancel job" not in page


@case("U06")
def test_all_memory_of_the_node_is_shown_as_that(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, memory_mib=0)
    page = get(sign_in(client, alice), f"/t/aurora-lab/jobs/{job.pk}/")
    assert ">all of the node<" in page


def test_script_output_and_cancel_are_for_the_owner_and_admins(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, mark="")
    submission = make_submission(cluster, alice, state="accepted", job=job)
    Job.objects.filter(pk=job.pk).update(mark=submission.mark)
    seen = {}
    for role in (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.VIEWER):
        person = make_member(tenant, role)
        page = get(sign_in(Client(), person), f"/t/aurora-lab/jobs/{job.pk}/")
        seen[role] = ("echo hello" in page, "job-output" in page or "/output/" in page, "Cancel job" in page)
        assert "C.UTF-8" not in page, "values are for the submitter only"
    assert seen == {
        Role.OWNER: (True, True, True),
        Role.ADMIN: (True, True, True),
        Role.MEMBER: (False, False, False),
        Role.VIEWER: (False, False, False),
    }
    own = get(sign_in(client, alice), f"/t/aurora-lab/jobs/{job.pk}/")
    assert "echo hello" in own
    assert "C.UTF-8" in own


def test_a_copied_mark_shows_nobody_elses_script(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    submission = make_submission(cluster, alice, state="accepted")
    bob = make_member(tenant, Role.MEMBER)
    copy = make_job(cluster, bob, mark=submission.mark)
    page = get(sign_in(client, bob), f"/t/aurora-lab/jobs/{copy.pk}/")
    assert "echo hello" not in page
    assert "not submitted through the portal" in page


@case("U12")
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"array_job_id": 500, "array_task_id": 7}, "Only task 7 of array 500 ends."),
        (
            {"array_job_id": 500, "array_tasks": "8-10%2", "task_count": 3, "state": "PENDING"},
            "the whole array 500",
        ),
        ({"het_job_id": 900, "het_offset": 1}, "the whole set ends"),
    ],
)
def test_the_cancel_page_says_what_ends(
    client: Client, alice: User, cluster: Cluster, columns: JSONDict, told: str
) -> None:
    job = make_job(cluster, alice, **columns)
    sign_in(client, alice)
    assert told in get(client, f"/t/aurora-lab/jobs/{job.pk}/cancel/")
    assert told in get(client, f"/t/aurora-lab/jobs/{job.pk}/")


def test_a_stranger_finds_nothing(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice)
    other = make_tenant("Other", owner=None)
    eve = make_member(other, Role.OWNER)
    sign_in(client, eve)
    for path in (
        f"/t/other/jobs/{job.pk}/",
        f"/t/other/clusters/{cluster.pk}/queue/",
        f"/t/aurora-lab/jobs/{job.pk}/",
        "/t/aurora-lab/jobs/",
    ):
        get(client, path, 404)


@case("U10")
def test_a_lost_submit_is_checked_and_never_called_failed(
    client: Client, alice: User, cluster: Cluster
) -> None:
    submission = make_submission(cluster, alice)
    sign_in(client, alice)
    page = get(client, f"/t/aurora-lab/submissions/{submission.pk}/")
    assert "Checking" in page
    assert "Send again" not in page
    assert "A job is being checked" in get(client, "/t/aurora-lab/jobs/")
    type(submission).objects.filter(pk=submission.pk).update(state="absent", message="It did not arrive.")
    assert "Send again" in get(client, f"/t/aurora-lab/submissions/{submission.pk}/")
    job = make_job(cluster, alice)
    type(submission).objects.filter(pk=submission.pk).update(state="accepted", job=job)
    response = client.get(f"/t/aurora-lab/submissions/{submission.pk}/")
    assert (response.status_code, response["Location"]) == (302, f"/t/aurora-lab/jobs/{job.pk}/")


def test_the_script_ends_with_its_last_line_and_the_id_stands_once(
    client: Client, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice)
    made = make_submission(cluster, alice, state="accepted", job=job)
    Job.objects.update(mark=made.mark)
    type(made).objects.update(script="#!/bin/bash\necho end\n\n \n")
    page = get(sign_in(client, alice), f"/t/aurora-lab/jobs/{job.pk}/")
    assert "echo end</pre>" in page
    head = page.partition("<main")[2].partition("live-job-")[0]
    assert len(re.findall(rf">\s*{job.slurm_job_id}\s*<", head)) == 1


def test_operators_see_states_as_badges(client: Client, alice: User, cluster: Cluster) -> None:
    make_job(cluster, alice, state="FAILED")
    make_submission(cluster, alice, state="absent")
    someone = operator().user
    assert someone is not None
    sign_in(client, someone)
    for path, tone, word in (("job", "red", "Failed"), ("submission", "amber", "Did not arrive")):
        page = get(client, f"/operations/jobs/{path}/")
        assert re.search(rf'<span class="badge tone-{tone}">.*?{word}</span>', page)
