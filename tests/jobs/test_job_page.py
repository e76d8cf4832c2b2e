"""The page of a job: why it waits and what to try, what it asked for and got, where it runs."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client

from clusters.models import Cluster
from jobs.models import Job, JobEvent
from jobs.web.resources import NOTHING
from portal.lib import clock
from tenants.models import Role, Tenant, User
from tests.builders import make_member, sign_in
from tests.cases import case
from tests.jobs.builders import make_job, make_submission

pytestmark = pytest.mark.django_db


def page_of(client: Client, job: Job) -> str:
    answer = client.get(f"/t/aurora-lab/jobs/{job.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def row(page: str, label: str) -> list[str]:
    """Asked, given, used of one resource."""
    found = re.search(rf'<td class="main-cell">{label}</td>(.*?)</tr>', page)
    assert found, label
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", found[1])]


def test_a_waiting_job_says_why_and_what_to_try(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="PENDING", reason="PartitionTimeLimit")
    JobEvent.objects.create(job=job, at=clock.now(), state="PENDING", reason="PartitionTimeLimit")
    page = page_of(sign_in(client, alice), job)
    assert "It asks for more time than this partition allows: it will never start." in page
    assert "Ask for less time, or choose another partition." in page
    assert "Slurm's word: PartitionTimeLimit" in page
    assert "<b>PartitionTimeLimit</b>" in page, "the event says it, too"


def test_what_was_asked_and_given_stand_side_by_side(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, gpus=2, cpus=4, node_count=1, memory_mib=16384, time_limit_minutes=60)
    made = make_submission(cluster, alice, state="accepted", job=job, gpus="1", time="30", nodes="1")
    Job.objects.filter(pk=job.pk).update(mark=made.mark)
    page = page_of(sign_in(client, alice), job)
    asked, given, used = row(page, "GPUs")
    assert asked.startswith("1 per node")
    assert (given, used) == ("2", NOTHING)
    assert row(page, "Nodes")[:2] == ["1", "1"]
    assert row(page, "Memory")[:2] == [NOTHING, "16 GiB per node"]
    assert row(page, "Time")[1] == "1 h 00 min"


def test_of_a_waiting_job_nothing_is_given_yet(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="PENDING", gpus=8)
    page = page_of(sign_in(client, alice), job)
    assert row(page, "GPUs") == ["8", NOTHING, NOTHING]
    assert row(page, "Time")[2] == NOTHING


def test_nodes_and_partitions_lead_to_their_pages(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, nodes="n[0-1]", partition="train,debug")
    here = f"/t/aurora-lab/clusters/{cluster.pk}"
    sign_in(client, alice)
    page = page_of(client, job)
    for path in ("nodes/n0/", "nodes/n1/", "partitions/train/", "partitions/debug/"):
        assert f'href="{here}/{path}"' in page
    many = make_job(cluster, alice, nodes="n[0-99]")
    page = page_of(client, many)
    assert "n[0-99]" in page
    assert f"{here}/nodes/n50/" not in page


def test_the_line_says_how_long_it_waited_and_ran(client: Client, alice: User, cluster: Cluster) -> None:
    now = clock.now()
    job = make_job(
        cluster,
        alice,
        state="COMPLETED",
        submit_time=now - dt.timedelta(minutes=30),
        start_time=now - dt.timedelta(minutes=20),
        end_time=now - dt.timedelta(minutes=8),
    )
    page = page_of(sign_in(client, alice), job)
    assert "waited 10 min 00 s" in page
    assert "ran 12 min 00 s" in page


@case("U15")
@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETED"])
def test_only_what_makes_sense_is_offered_and_only_to_who_may(
    client: Client, tenant: Tenant, alice: User, cluster: Cluster, state: str
) -> None:
    job = make_job(cluster, alice, state=state)
    acts = {"PENDING": {"hold", "change"}, "RUNNING": {"change"}, "COMPLETED": set()}[state]
    for person, may in ((alice, True), (make_member(tenant, Role.ADMIN), True), (make_member(tenant), False)):
        page = page_of(sign_in(Client(), person), job)
        found = set(re.findall(rf'/jobs/{job.pk}/act/(\w+)/"', page))
        assert found >= acts if may else not found
        assert ("Cancel job" in page) == (may and state != "COMPLETED")
