"""The observer: what it saves, which source it takes, and how it bears clusters that misbehave."""

from __future__ import annotations

import datetime as dt
import json
import time
from http.server import BaseHTTPRequestHandler

import pytest
import time_machine

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import ExitCode
from clusters.models import Cluster, SlurmEndpoint
from clusters.services import observation
from jobs import outside
from jobs.models import Job, JobEvent, Partition
from jobs.observer import loop, pace
from jobs.observer.look import LIST, SINGLE, Memory, Seen, look
from jobs.observer.loop import Observer, claim, observe
from portal.lib import clock
from tenants.live.topics import Topic, version_of
from tenants.models import User
from tests.cases import case
from tests.jobs.builders import identity_for, make_job, make_submission
from tests.jobs.fakes import FakeSlurm
from tests.jobs.proxies import Fault, broken_slurm, serving

pytestmark = pytest.mark.django_db
PING = {"meta": {"Slurm": {"release": "22.05.8"}}, "errors": [], "pings": [{"ping": "UP", "mode": "primary"}]}


def endpoint_of(cluster: Cluster) -> SlurmEndpoint:
    return SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster)


def look_at(cluster: Cluster, memory: Memory | None = None) -> str:
    return look(endpoint_of(cluster), memory or Memory()).source


def queue_topic(cluster: Cluster) -> Topic:
    return Topic(cluster.tenant_id, "queue", cluster.pk)


def test_states_become_rows_events_and_topics(slurm: FakeSlurm, alice: User, cluster: Cluster) -> None:
    account = identity_for(cluster, alice).name
    slurm.add(job_id=7, name="train", user_name=account, reason="Resources")
    memory = Memory()
    look_at(cluster, memory)
    job = Job.objects.get()
    assert (job.slurm_job_id, job.owner, job.state, job.reason) == (7, alice, "PENDING", "Resources")
    before = version_of(Topic(cluster.tenant_id, "job", job.pk)), version_of(queue_topic(cluster))
    slurm.change(7, state="RUNNING", reason="", start_time=slurm.now())
    look_at(cluster, memory)
    slurm.change(
        7, state="FAILED", reason="NonZeroExitCode", end_time=slurm.now(), exit_code=ExitCode(status=3)
    )
    look_at(cluster, memory)
    job.refresh_from_db()
    assert (job.state, job.exit_status, job.exit_signal) == ("FAILED", 3, 0)
    assert list(job.events.values_list("state", flat=True)) == ["PENDING", "RUNNING", "FAILED"]
    after = version_of(Topic(cluster.tenant_id, "job", job.pk)), version_of(queue_topic(cluster))
    assert (after[0] - before[0], after[1] - before[1]) == (2, 2)


def test_nothing_new_writes_and_publishes_nothing(slurm: FakeSlurm, cluster: Cluster) -> None:
    slurm.add(job_id=7)
    memory = Memory()
    look_at(cluster, memory)
    before, events = version_of(queue_topic(cluster)), JobEvent.objects.count()
    look_at(cluster, memory)
    assert (version_of(queue_topic(cluster)), JobEvent.objects.count()) == (before, events)
    cluster.slurm.refresh_from_db()
    assert cluster.slurm.observed_at is not None


def test_unchanged_is_asked_with_the_controllers_own_clock(slurm: FakeSlurm, cluster: Cluster) -> None:
    memory = Memory()
    slurm.unchanged = True
    with time_machine.travel("2026-11-30 12:00:00+00:00", tick=False):
        look_at(cluster, memory)
    assert slurm.listed == [None]
    first = memory.req_time
    with time_machine.travel("2026-11-30 12:00:09+00:00", tick=False):
        look_at(cluster, memory)
    assert slurm.listed == [None, first]
    with time_machine.travel("2026-11-30 12:10:01+00:00", tick=False):
        look_at(cluster, memory)
    assert slurm.listed == [None, first, None], "a full look every ten minutes"


@case("U15")
def test_a_job_that_is_missing_from_a_complete_list_ended_with_unknown_result(
    slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    gone = make_job(cluster, alice, state="RUNNING")
    known = make_job(cluster, alice, state="COMPLETED")
    look_at(cluster)
    assert dict(Job.objects.values_list("pk", "state")) == {gone.pk: "ENDED", known.pk: "COMPLETED"}


@case("U15")
def test_an_old_job_of_the_same_id_is_another_job(slurm: FakeSlurm, alice: User, cluster: Cluster) -> None:
    old = make_job(
        cluster, alice, state="FAILED", slurm_job_id=7, submit_time=clock.now() - dt.timedelta(days=400)
    )
    slurm.add(job_id=7, name="new", state="COMPLETED", end_time=slurm.now())
    look_at(cluster)
    assert Job.objects.count() == 2
    old.refresh_from_db()
    assert (old.name, old.state) == ("train-7b", "FAILED")


@case("U15")
def test_a_requeued_job_stays_one_row(slurm: FakeSlurm, cluster: Cluster) -> None:
    slurm.add(job_id=7, state="RUNNING", submit_time=slurm.now() - 500, start_time=slurm.now() - 400)
    look_at(cluster)
    slurm.change(7, state="PENDING", reason="BeginTime", submit_time=slurm.now(), start_time=None, restarts=1)
    look_at(cluster)
    job = Job.objects.get()
    assert (job.state, job.restarts) == ("PENDING", 1)
    assert list(job.events.values_list("state", flat=True)) == ["RUNNING", "PENDING"]


@case("U15")
@pytest.mark.parametrize("other", [{"user_name": "fhbob1"}, {"comment": "[fh:abcdefghij24]"}])
def test_a_requeued_job_that_has_an_old_number_is_not_the_old_job(
    slurm: FakeSlurm, cluster: Cluster, other: dict[str, str]
) -> None:
    own = {"user_name": "fhalice1", "comment": "[fh:abcdefghij23]"}
    slurm.add(job_id=7, state="RUNNING", submit_time=slurm.now() - 500, **own)
    look_at(cluster)
    slurm.add(job_id=7, submit_time=slurm.now(), restarts=1, **(own | other))
    look_at(cluster)
    assert list(Job.objects.order_by("submit_time").values_list("state", flat=True)) == ["ENDED", "PENDING"]


def test_a_look_never_overwrites_what_was_seen_later(slurm: FakeSlurm, alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice, state="CANCELLED", observed_at=clock.now() + dt.timedelta(seconds=5))
    slurm.add(job_id=job.slurm_job_id, state="RUNNING", submit_time=int(job.submit_time.timestamp()))
    Job.objects.filter(pk=job.pk).update(submit_time=job.submit_time.replace(microsecond=0))
    look_at(cluster)
    assert Job.objects.get().state == "CANCELLED"


@case("U13")
def test_numbers_that_no_column_holds_are_not_told(slurm: FakeSlurm, cluster: Cluster) -> None:
    slurm.add(
        job_id=7, start_time=None, cpus=2**32 - 3, user_id=4_000_000_000, end_time=2**40, node_count=None
    )
    look_at(cluster)
    job = Job.objects.get()
    assert (job.cpus, job.start_time, job.end_time, job.node_count) == (None, None, None, None)


def test_a_removed_cluster_runs_nothing(alice: User, cluster: Cluster) -> None:
    job = make_job(cluster, alice)
    submission = make_submission(cluster, alice)
    observer = Observer(threads=1)
    Cluster.objects.update(phase="deleting", wanted=False)
    assert observer.step() == 0
    assert Job.objects.get(pk=job.pk).state == "RUNNING"
    Cluster.objects.update(phase="deleted")
    Observer(threads=1).step()
    assert Job.objects.get(pk=job.pk).state == "ENDED"
    submission.refresh_from_db()
    assert submission.state == "unknown"


def test_our_own_checks_are_nobodys_jobs(slurm: FakeSlurm, cluster: Cluster) -> None:
    slurm.add(job_id=7, name="freehold-probe")
    slurm.add(job_id=8, name="freehold-probe", comment="[fh:abcdefghij23]")
    look_at(cluster)
    assert list(Job.objects.values_list("slurm_job_id", flat=True)) == [8]


def test_a_long_queue_is_not_listed_and_what_is_missing_is_not_gone(
    slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    mine = make_job(cluster, alice, state="RUNNING", slurm_job_id=7)
    unseen = make_job(cluster, alice, state="RUNNING", slurm_job_id=8)
    account = identity_for(cluster, alice).name
    slurm.add(
        job_id=7,
        user_name=account,
        state="COMPLETED",
        submit_time=int(mine.submit_time.timestamp()),
        end_time=slurm.now(),
    )
    Job.objects.filter(pk=mine.pk).update(submit_time=mine.submit_time.replace(microsecond=0))
    slurm.counts = (50_000, 10)
    assert look_at(cluster) == SINGLE
    assert slurm.listed == []
    assert sorted(slurm.asked) == [7, 8]
    assert dict(Job.objects.values_list("pk", "state")) == {mine.pk: "COMPLETED", unseen.pk: "RUNNING"}
    cluster.slurm.refresh_from_db()
    assert (cluster.slurm.jobs_pending, cluster.slurm.jobs_running) == (50_000, 10)


def test_an_array_with_many_tasks_and_few_records_is_listed_once_that_is_known(
    slurm: FakeSlurm, cluster: Cluster
) -> None:
    slurm.add(job_id=7, array_job_id=7, array_task_string="0-99999")
    slurm.counts = (100_000, 0)
    assert look_at(cluster, Memory(records=1, bound=100_000)) == LIST
    assert Job.objects.get().task_count == 100_000


def test_partitions_are_kept_for_the_form(slurm: FakeSlurm, cluster: Cluster) -> None:
    Partition.objects.create(cluster=cluster, name="gone", state="UP", observed_at=clock.now())
    look_at(cluster)
    row = Partition.objects.get()
    assert (row.name, row.max_time_minutes, row.gpus) == ("train", 10080, 8), "its pool knows the GPUs"


@case("U16")
@pytest.mark.parametrize(
    "fault",
    [
        Fault(500, "text/html", b"<html><body><h1>Proxy error</h1><script>x()</script></body></html>"),
        Fault(502, "text/plain", b"Bad"),
        Fault(200, "text/html", b"<html><form>Sign in</form></html>"),
        Fault(200, "application/json", b'{"errors": [], "statistics": {"req_ti'),
        Fault(500, "application/json", b'{"errors": [{"error": "Unspecified error", "errno": -1}]}'),
    ],
)
def test_a_bad_answer_changes_nothing_but_since_when(cluster: Cluster, alice: User, fault: Fault) -> None:
    job = make_job(cluster, alice)
    before = endpoint_of(cluster)
    Cluster.objects.filter(pk=cluster.pk).update(next_reconcile_at=clock.now() + dt.timedelta(minutes=10))
    with broken_slurm(fault) as url:
        SlurmEndpoint.objects.filter(pk=before.pk).update(url=url)
        claimed = claim(before.pk)
        assert claimed is not None
        observe(claimed, {})
    seen = endpoint_of(cluster)
    assert seen.unreachable_since is not None
    assert seen.observed_at == before.observed_at
    assert seen.failures == 1
    assert "<" not in seen.trouble
    assert seen.trouble
    assert seen.next_observe_at is not None
    assert seen.next_observe_at > clock.now()
    assert Job.objects.get(pk=job.pk).state == "RUNNING"
    cluster.refresh_from_db()
    assert cluster.next_reconcile_at is not None
    assert cluster.next_reconcile_at <= clock.now(), "the engine looks at once"


@case("U16")
def test_open_pages_hear_at_once_of_silence_and_of_its_end(
    cluster: Cluster, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, other = make_job(cluster, alice, state="PENDING"), make_job(cluster, alice, state="PENDING")
    pace.note_watched_job(cluster.pk, watched.slurm_job_id)
    topics = [queue_topic(cluster), *(Topic(cluster.tenant_id, "job", job.pk) for job in (watched, other))]

    def news() -> list[bool]:
        """Which of the topics an observer's turn raised."""
        before = [version_of(topic) for topic in topics]
        SlurmEndpoint.objects.filter(cluster=cluster).update(next_observe_at=None)
        claimed = claim(cluster.slurm.pk)
        assert claimed is not None
        observe(claimed, {})
        return [version_of(topic) > version for topic, version in zip(topics, before, strict=True)]

    def silent(*_: object) -> Seen:
        raise errors.NotReachable

    with monkeypatch.context() as patch:
        patch.setattr(loop, "look", silent)
        assert news() == [True, True, False]
        assert news() == [False, False, False], "it is known already"
    monkeypatch.setattr(loop, "look", lambda endpoint, *_: _answered(endpoint))
    assert news() == [True, True, False]
    assert news() == [False, False, False]


def _answered(endpoint: SlurmEndpoint) -> Seen:
    """A look that found what was known."""
    observation.note_seen(endpoint, seen_at=clock.now(), pending=0, running=0, source=LIST)
    return Seen(source=LIST, active=False)


@case("U16")
def test_a_reply_that_takes_too_long_counts_as_none(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "DEADLINE", 0.3)
    with broken_slurm(Fault(200, "application/json", b"{}", delay=40)) as url:
        SlurmEndpoint.objects.filter(cluster=cluster).update(url=url)
        claimed = claim(cluster.slurm.pk)
        assert claimed is not None
        began = time.monotonic()
        observe(claimed, {})
        assert time.monotonic() - began < 10
    assert endpoint_of(cluster).unreachable_since is not None


@case("U18")
def test_after_an_upgrade_the_best_version_left_is_asked_for_and_remembered(cluster: Cluster) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        known = {"/openapi/v3": {"paths": {"/slurm/v0.0.38/ping/": {}}}, "/slurm/v0.0.38/ping": PING}
        body = json.dumps(known.get(request.path, "Unable find requested URL.")).encode()
        request.send_response(200 if request.path in known else 404)
        request.send_header("Content-Type", "application/json" if request.path in known else "text/plain")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with serving(answer) as url:
        SlurmEndpoint.objects.filter(cluster=cluster).update(url=url, api_version="v0.0.41")
        claimed = claim(cluster.slurm.pk)
        assert claimed is not None
        observe(claimed, {})
    assert endpoint_of(cluster).api_version == "v0.0.38"
