"""Rows are completed from accounting: by id and submit time, and never against what was seen better."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.cache import cache

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import ExitCode
from clusters.clients.slurmrest.past import JobUse as Use
from clusters.clients.slurmrest.past import PastJob
from clusters.models import Cluster, Site
from jobs.history import reading, seeking
from jobs.history.models import HistoryCursor, JobUse
from jobs.models import Job, JobEvent
from portal.lib import clock
from tenants.live.topics import Topic, version_of
from tenants.models import User
from tests.cases import case
from tests.jobs.builders import make_job
from tests.jobs.history.books import FakeBooks, install, past

pytestmark = pytest.mark.django_db


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> FakeBooks:
    """Of a site that names a driver for accounting."""
    Site.objects.filter(pk=cluster.site_id).update(drivers={**cluster.site.drivers, "accounting": "local"})
    slurm = cluster.slurm
    slurm.url, slurm.api_version = "http://127.0.0.1:9", "v0.0.38"
    slurm.save(update_fields=["url", "api_version"])
    Cluster.objects.filter(pk=cluster.pk).update(ready_at=clock.now())
    return install(monkeypatch)


def read(cluster: Cluster) -> int:
    """What the scan and then the worker do."""
    HistoryCursor.objects.update(next_at=clock.now())
    assert reading.due(clock.now()) == [cluster.pk]
    return reading.read(cluster.pk)


@case("U15")
@pytest.mark.parametrize(
    "state", ["FAILED", "OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "COMPLETED"]
)
def test_a_job_whose_result_nobody_saw_gets_the_one_of_accounting(
    cluster: Cluster, alice: User, books: FakeBooks, state: str
) -> None:
    job = make_job(cluster, alice, state="ENDED", end_time=None, account="", exit_status=None)
    before = version_of(Topic(cluster.tenant_id, "job", job.pk))
    books.records = [past(job, state=state, exit_code=ExitCode(status=1 if state == "FAILED" else 0))]
    assert read(cluster) == 1
    job.refresh_from_db()
    assert (job.state, job.account) == (state, "aurora-lab")
    assert job.exit_status == (1 if state == "FAILED" else 0)
    assert job.ran == dt.timedelta(seconds=600)
    assert list(JobEvent.objects.values_list("state", flat=True)) == [state]
    assert version_of(Topic(cluster.tenant_id, "job", job.pk)) > before
    assert read(cluster) == 0  # the same answer again changes nothing


@case("U15")
def test_an_older_job_of_the_same_number_is_another_job(
    cluster: Cluster, alice: User, books: FakeBooks
) -> None:
    job = make_job(cluster, alice, state="ENDED")
    old = int(job.submit_time.timestamp()) - 90 * 24 * 3600
    books.records = [past(job, state="FAILED", submit_time=old, start_time=old + 1, end_time=old + 601)]
    read(cluster)
    job.refresh_from_db()
    assert job.state == "ENDED"
    other = Job.objects.exclude(pk=job.pk).get()
    assert (other.slurm_job_id, other.state, other.owner) == (job.slurm_job_id, "FAILED", alice)


def test_what_the_observer_saw_stays(cluster: Cluster, alice: User, books: FakeBooks) -> None:
    failed = make_job(cluster, alice, state="FAILED", exit_status=3, exit_signal=0)
    running = make_job(cluster, alice, state="RUNNING")
    # v0.0.38 says that all went well
    books.records = [past(failed, exit_code=None), past(running)]
    read(cluster)
    failed.refresh_from_db()
    running.refresh_from_db()
    assert (failed.state, failed.exit_status, running.state) == ("FAILED", 3, "RUNNING")
    assert set(JobUse.objects.values_list("job", flat=True)) == {failed.pk}


def test_efficiency_is_kept_where_it_was_gathered(cluster: Cluster, alice: User, books: FakeBooks) -> None:
    gathered, silent, never_ran = (make_job(cluster, alice, state="COMPLETED") for _ in range(3))
    books.records = [
        past(
            gathered,
            node_count=2,
            memory_mib=8192,
            use=Use(cpu_seconds=600.0, memory_mib=1024, gpu_percent=12.5),
        ),
        past(silent, use=Use()),
        past(never_ran, state="CANCELLED", start_time=None, elapsed=0, cpus=0),
    ]
    read(cluster)
    use = JobUse.objects.get(job=gathered)
    assert (use.cpu_percent, use.memory_percent, use.gpu_percent) == (25.0, 25.0, 12.5)
    assert (use.idle_cpu_seconds, use.tenant_id) == (1800.0, cluster.tenant_id)
    nothing = JobUse.objects.get(job=silent)
    assert (nothing.cpu_percent, nothing.memory_percent, nothing.idle_cpu_seconds) == (None, None, None)
    assert not JobUse.objects.filter(job=never_ran).exists()


def test_jobs_that_nobody_looked_at_are_entered_but_not_our_own_checks(
    cluster: Cluster, alice: User, books: FakeBooks
) -> None:
    model = make_job(cluster, alice, state="COMPLETED")
    number = model.slurm_job_id
    probe = past(model, name="freehold-smoke", job_id=number + 1)
    records = [past(model), probe, past(model, is_waiting_rest=True, job_id=number + 2)]
    model.delete()
    books.records = records
    assert read(cluster) == 1
    row = Job.objects.get()
    assert (row.owner, row.state, row.gpus, row.nodes) == (alice, "COMPLETED", 2, "n0")


@case("U15")
def test_no_answer_is_no_result(cluster: Cluster, alice: User, books: FakeBooks) -> None:
    job = make_job(cluster, alice, state="ENDED")
    books.fault = errors.NotReachable("The cluster's slurmdbd does not answer.")
    assert read(cluster) == 0
    cursor = HistoryCursor.objects.get()
    job.refresh_from_db()
    assert (job.state, cursor.failures, cursor.lease_until) == ("ENDED", 1, None)
    assert cursor.next_at is not None
    assert cursor.next_at > clock.now()
    books.fault, books.records = None, [past(job)]
    assert read(cluster) == 1
    cursor.refresh_from_db()
    assert (cursor.failures, cursor.trouble) == (0, "")
    # what came late is read again
    assert books.windows[-1][0] <= books.windows[0][0]


@case("U15", "U16")
def test_a_job_that_ended_while_the_observer_was_away_for_days_is_found(
    cluster: Cluster, alice: User, books: FakeBooks
) -> None:
    began = clock.now() - dt.timedelta(days=3)
    job = make_job(cluster, alice, state="RUNNING", submit_time=began.replace(microsecond=0))
    record, namesake = past(job, state="TIMEOUT"), past(job, state="FAILED", submit_time=1_600_000_000)
    books.records = [record]
    read(cluster)
    job.refresh_from_db()
    assert job.state == "RUNNING", "the observer is away, and nobody knows better"
    books.records, books.older = [], [namesake, record]
    Job.objects.filter(pk=job.pk).update(state="ENDED", observed_at=clock.now())  # it comes back
    assert read(cluster) == 1
    job.refresh_from_db()
    assert job.state == "TIMEOUT"
    assert Job.objects.count() == 1, "an older job of the number is not what was asked for"


@case("U15")
def test_jobs_that_accounting_does_not_know_are_sought_now_and_then_and_a_few_at_a_time(
    cluster: Cluster, alice: User, books: FakeBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeking, "MOST", 2)
    now = clock.now()
    for number in range(5):
        make_job(
            cluster, alice, slurm_job_id=number, state="ENDED", observed_at=now - dt.timedelta(hours=number)
        )
    passes = []
    for _ in range(4):
        read(cluster)
        passes.append(books.sought.copy())
        books.sought.clear()
    assert passes == [[0, 1], [2, 3], [4], []]
    cache.clear()  # later
    assert read(cluster) == 0
    assert books.sought == [0, 1]


def test_a_number_that_accounting_cannot_tell_of_keeps_nothing_else_waiting(
    cluster: Cluster, alice: User, books: FakeBooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, known = (make_job(cluster, alice, state="ENDED") for _ in range(2))
    books.records, ask = [past(known)], books.job

    def fail(job_id: int) -> tuple[PastJob, ...]:
        ask(job_id)
        raise errors.NotReachable

    monkeypatch.setattr(books, "job", fail)
    assert read(cluster) == 1
    assert books.sought == [silent.slurm_job_id]
    assert HistoryCursor.objects.get().failures == 0
    read(cluster)
    assert books.sought == [silent.slurm_job_id]


def test_a_long_past_is_read_in_windows(cluster: Cluster, books: FakeBooks) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(created_at=clock.now() - dt.timedelta(days=3))
    for _ in range(5):
        read(cluster)
    assert all(until - since <= 27 * 3600 for since, until in books.windows)
    cursor = HistoryCursor.objects.get()
    assert cursor.read_until > clock.now() - dt.timedelta(minutes=1)
    assert books.windows[-1][0] > books.windows[0][0]


def test_two_workers_do_not_read_the_same_cluster(cluster: Cluster, books: FakeBooks) -> None:
    assert reading.due(clock.now())
    HistoryCursor.objects.update(lease_until=clock.now() + dt.timedelta(minutes=1))
    assert reading.read(cluster.pk) == 0
    assert reading.due(clock.now()) == []
    assert books.windows == []
    # a worker that was killed leaves a lease that ends by itself
    HistoryCursor.objects.update(lease_until=clock.now() - dt.timedelta(seconds=1))
    assert reading.due(clock.now()) == [cluster.pk]


def test_a_site_without_accounting_is_not_asked(cluster: Cluster, books: FakeBooks) -> None:
    assert reading.due(clock.now()) == [cluster.pk]
    drivers = {key: value for key, value in cluster.site.drivers.items() if key != "accounting"}
    Site.objects.filter(pk=cluster.site_id).update(drivers=drivers)
    assert reading.due(clock.now()) == []
