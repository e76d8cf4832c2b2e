"""Slurm's steps of a job: kept from accounting, shown on its page and told by the API."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client

from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import PastJob, PastStep
from clusters.models import Cluster, Site
from jobs.history.models import JobSteps
from jobs.history.saving import save
from jobs.models import Job
from jobs.web.resources import NOTHING
from portal.lib import clock
from tenants.live.topics import Topic, version_of
from tenants.models import User
from tests.api.calls import make_token, send
from tests.builders import sign_in
from tests.jobs.builders import make_job
from tests.jobs.history.books import past

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _keeps_books(cluster: Cluster) -> None:
    Site.objects.filter(pk=cluster.site_id).update(drivers={**cluster.site.drivers, "accounting": "local"})


def steps_of(job: Job) -> tuple[PastStep, ...]:
    """A script, and a run of srun that failed."""
    start = int(job.submit_time.timestamp()) + 60
    return (
        PastStep(
            step="batch", name="batch", state="FAILED", start_time=start, elapsed=600, node_count=1, tasks=1
        ),
        PastStep(
            step="0",
            name="train|<b>",
            state="FAILED",
            exit_code=ExitCode(status=3),
            node_count=2,
            tasks=16,
            start_time=start + 5,
            end_time=start + 595,
            elapsed=590,
            cpu_seconds=1180.5,
            memory_mib=2048,
        ),
    )


def told(job: Job, steps: tuple[PastStep, ...], state: str) -> PastJob:
    return past(job, state=state, steps=steps, step_count=len(steps))


def test_steps_of_a_job_that_ended_are_a_table(client: Client, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="FAILED")
    topic = Topic(cluster.tenant_id, "job", job.pk)
    records = [told(job, steps_of(job), state="FAILED")]
    save(cluster, records, read_at=clock.now())
    version = version_of(topic)
    save(cluster, records, read_at=clock.now())
    assert version_of(topic) == version > 0, "the same again is no news"
    page = sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/").content.decode()
    table = re.search(r'<table class="table table-steps">.*?</table>', page, re.DOTALL)
    assert table
    rows = [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", table[0])[1:]
    ]
    assert [row[0] for row in rows] == ["batchthe script itself", "0train|&lt;b&gt;"]
    assert rows[1][1].split() == ["Failed", "code", "3"]
    assert rows[1][2:] == ["2", "16", "9 min 50 s", "19 min 40 s", "2 GiB"]
    assert rows[0][2:] == ["1", "1", "10 min 00 s", NOTHING, NOTHING]
    token = make_token(alice, cluster.tenant)
    found = send(token, "get", f"/api/v1/t/aurora-lab/jobs/{job.pk}/").json()
    assert found["step_count"] == 2
    assert [one["step"] for one in found["steps"]] == ["batch", "0"]
    assert (found["steps"][1]["exit_status"], found["steps"][1]["memory_mib"]) == (3, 2048)
    assert found["steps"][0]["exit_status"] is None, "this version did not tell it"


def test_steps_of_a_running_job_are_kept_without_touching_its_row(
    client: Client, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="RUNNING")
    before = Job.objects.filter(pk=job.pk).values().get()
    at_work = PastStep(step="0", name="train", state="RUNNING", start_time=100, elapsed=50, tasks=4)
    save(cluster, [told(job, (at_work,), state="RUNNING")], read_at=clock.now())
    kept = JobSteps.objects.get()
    assert kept.steps[0]["elapsed"] is None
    assert Job.objects.filter(pk=job.pk).values().get() == before
    # its own clock goes on: a later look at the same step is no news
    later = PastStep(step="0", name="train", state="RUNNING", start_time=100, elapsed=110, tasks=4)
    version = version_of(Topic(cluster.tenant_id, "job", job.pk))
    save(cluster, [told(job, (later,), state="RUNNING")], read_at=clock.now())
    assert version_of(Topic(cluster.tenant_id, "job", job.pk)) == version
    page = sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/").content.decode()
    assert 'data-elapsed="1970-01-01T00:01:40+00:00"' in page


@pytest.mark.parametrize(
    ("columns", "books", "said"),
    [
        ({"state": "RUNNING"}, True, "has told of no step yet"),
        ({"state": "COMPLETED"}, True, "has told of no step yet"),
        ({"state": "COMPLETED", "end_time": clock.now() - dt.timedelta(hours=1)}, True, "knows no steps"),
        ({"state": "PENDING"}, True, ""),
        ({"state": "CANCELLED", "start_time": None}, True, ""),
        ({"state": "RUNNING"}, False, ""),
    ],
)
def test_without_steps_the_page_says_so_or_nothing(
    client: Client, alice: User, cluster: Cluster, columns: dict[str, object], books: bool, said: str
) -> None:
    if not books:
        Site.objects.filter(pk=cluster.site_id).update(drivers={})
    job = make_job(cluster, alice, **columns)  # type: ignore[arg-type]
    page = sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/").content.decode()
    assert (">Steps</h3>" in page) == bool(said)
    assert said in page


def test_a_job_with_thousands_of_steps_says_what_is_left_out(
    client: Client, alice: User, cluster: Cluster
) -> None:
    job = make_job(cluster, alice, state="COMPLETED")
    save(cluster, [past(job, steps=steps_of(job), step_count=3000)], read_at=clock.now())
    page = sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/").content.decode()
    assert "3000 steps, the first and the last of them" in page
