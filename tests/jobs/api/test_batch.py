"""Submitting many jobs in one call: each once, each with rows of its own, and what Slurm says to each."""

from __future__ import annotations

import itertools
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from clusters.models import Cluster
from jobs import live, outside
from jobs.api.batch import BatchIn
from jobs.models import Job, Submission
from jobs.observer import resolve
from jobs.services import batches
from portal.lib.types import JSONDict
from tenants.live import sender
from tenants.live.topics import Topic, version_of
from tenants.models import AuditEvent, Membership, Tenant, User
from tests.api.calls import make_token, send
from tests.cases import case
from tests.jobs.builders import SCRIPT
from tests.jobs.fakes import FakeSlurm

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
EACH: JSONDict = {"script": SCRIPT}


@pytest.fixture
def token(alice: User, tenant: Tenant) -> str:
    return make_token(alice, tenant, ["jobs"])


def submit(token: str, cluster: Cluster, jobs: list[JSONDict], *, status: int = 200, key: str = "k") -> Any:
    path = f"/api/v1/t/aurora/clusters/{cluster.pk}/jobs/many/"
    answer = send(token, "post", path, {"jobs": jobs}, key=key)
    assert answer.status_code == status, answer.content
    return answer.json()


def named(count: int) -> list[JSONDict]:
    return [{**EACH, "name": f"run {number}"} for number in range(count)]


def refuse(monkeypatch: pytest.MonkeyPatch, slurm: FakeSlurm, name: str, error: Exception) -> None:
    """This one job is not taken."""
    take = slurm.submit

    def submit_one(request: SubmitRequest) -> SubmitResult:
        if request.name == name:
            raise error
        return take(request)

    monkeypatch.setattr(slurm, "submit", submit_one)


def test_the_shared_reader_of_bodies_keeps_nothing_of_what_it_read() -> None:
    jobs = BatchIn().fields["jobs"]
    found = jobs.run_validation([{**EACH, "name": "zebra-7"}] * 2)
    assert [one["name"] for one in found] == ["zebra-7"] * 2
    assert "zebra-7" not in repr(vars(jobs))


def test_each_job_has_its_rows_its_audit_events_and_its_number(
    slurm: FakeSlurm, alice: User, tenant: Tenant, cluster: Cluster, token: str
) -> None:
    made = submit(token, cluster, named(batches.AT_ONCE + 2))
    assert made["accepted"] == len(made["items"]) == batches.AT_ONCE + 2
    for number, item in enumerate(made["items"]):
        row = Submission.objects.get(pk=item["submission"])
        job = Job.objects.get(pk=item["job"])
        assert (row.state, row.request["name"], job.name) == ("accepted", f"run {number}", f"run {number}")
        assert row.slurm_job_id == job.slurm_job_id == item["slurm_job_id"]
        assert (row.job, job.mark, job.owner, job.state) == (job, row.mark, alice, "PENDING")
        assert (item["state"], item["problem"], item["errors"]) == ("accepted", "", {})
        told = AuditEvent.objects.filter(target_id=str(row.pk)).order_by("id")
        assert [event.verb for event in told] == ["job.submitted", "job.accepted"]
        assert told[1].detail == {"slurm_job_id": job.slurm_job_id}
        assert version_of(Topic(tenant.pk, live.SUBMISSION, row.pk)) == 1
    assert sorted(request.name or "" for request in slurm.submitted) == sorted(
        f"run {number}" for number in range(batches.AT_ONCE + 2)
    )
    assert version_of(live.queue(tenant.pk, cluster.pk)) > 0


def test_pages_of_a_single_submit_are_told_at_once_and_those_of_many_see_it_when_they_ask(
    slurm: FakeSlurm,
    tenant: Tenant,
    cluster: Cluster,
    token: str,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(sender, "put", lambda name, version: told.append(name))
    for count, key in ((1, "k"), (3, "l")):
        told.clear()
        with django_capture_on_commit_callbacks(execute=True):
            made = submit(token, cluster, named(count), key=key)
        topics = [Topic(tenant.pk, live.SUBMISSION, uuid.UUID(one["submission"])) for one in made["items"]]
        assert [version_of(topic) for topic in topics] == [1] * count
        assert [topic.name in told for topic in topics] == [count == 1] * count
        assert live.queue(tenant.pk, cluster.pk).name in told


@case("U10")
def test_the_same_key_submits_nothing_twice_and_goes_on_where_a_call_ended(
    slurm: FakeSlurm, cluster: Cluster, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(batches, "PATIENCE", -1.0)
        first = submit(token, cluster, named(3))
    assert (first["accepted"], len(slurm.submitted)) == (0, 0)
    assert [item["submission"] for item in first["items"]] == [None] * 3
    assert "Send the same again" in first["items"][0]["problem"]
    second, third = submit(token, cluster, named(3)), submit(token, cluster, named(3))
    assert second == third
    assert (second["accepted"], len(slurm.submitted)) == (3, 3)
    submit(token, cluster, named(2), status=422)
    assert len(slurm.submitted) == 3


def test_one_that_cannot_be_sent_keeps_all_back_and_is_named(
    slurm: FakeSlurm, cluster: Cluster, token: str
) -> None:
    wrong = {**EACH, "memory": "16 apples"}
    jobs = [EACH, wrong, wrong, {**EACH, "nodes": 99}]
    told = submit(token, cluster, jobs, status=400)
    assert set(told["errors"]) == {"jobs.1.memory", "jobs.2.memory", "jobs.3.nodes"}
    told = submit(token, cluster, [{**EACH, "nodes": 1}, {**EACH, "nodes": True}], status=400)
    assert set(told["errors"]) == {"jobs.1.nodes"}, "no two that are equal to Python only are taken as alike"
    assert submit(token, cluster, [EACH, {"name": "no script"}], status=400, key="l")["errors"]
    assert slurm.submitted == []
    assert not Submission.objects.exists()
    assert submit(token, cluster, jobs[:1])["accepted"] == 1, "the key is free again"


def test_what_slurm_says_to_one_job_is_told_with_it_and_the_others_are_taken(
    slurm: FakeSlurm, cluster: Cluster, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, slurm, "run 1", errors.SlurmRefused(2066, "Invalid qos specification"))
    made = submit(token, cluster, named(3))
    assert [item["state"] for item in made["items"]] == ["accepted", "refused", "accepted"]
    assert "Invalid qos specification" in made["items"][1]["errors"]["qos"]
    assert made["items"][1]["job"] is None
    assert AuditEvent.objects.filter(verb="job.refused").count() == 1


@case("U10")
def test_after_a_lost_answer_no_more_are_sent_and_that_one_is_sought(
    slurm: FakeSlurm, cluster: Cluster, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, slurm, "run 0", errors.Unclear("connection lost"))
    monkeypatch.setattr(batches, "AT_ONCE", 20)
    made = submit(token, cluster, named(2 * batches.AT_ONCE + 1))  # while some are sent the next are recorded
    assert made["items"][0]["state"] == "checking"
    assert (made["items"][-1]["submission"], made["items"][-1]["state"]) == (None, None)
    assert made["accepted"] == len(slurm.submitted) < batches.AT_ONCE
    assert made["items"][1]["state"] == "refused", "it was recorded, and certainly not sent"
    states = set(Submission.objects.values_list("state", flat=True))
    assert states <= {"accepted", "checking", "refused"}


@case("U10")
def test_what_waited_too_long_is_not_sent_and_is_settled_before_its_sender_is_taken_for_dead(
    slurm: FakeSlurm, cluster: Cluster, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks, take = itertools.count(step=outside.SEND_WITHIN / 4), slurm.submit
    now = [0.0]

    def slow(request: SubmitRequest) -> SubmitResult:
        now[0] = next(clocks)
        return take(request)

    monkeypatch.setattr(slurm, "submit", slow)
    monkeypatch.setattr(outside, "time", SimpleNamespace(monotonic=lambda: now[0]))
    made = submit(token, cluster, named(10))
    assert 0 < made["accepted"] == len(slurm.submitted) < 10
    late = made["items"][made["accepted"] :]
    assert {item["state"] for item in late} == {"refused"}, "nobody waits for it, and nobody sends it later"
    longest = outside.SEND_WITHIN + outside.CHANGE_DEADLINE + outside.AT_ONCE * errors.QUICK
    assert longest < resolve.SENDER_DIED.total_seconds()


def test_who_left_submits_nothing(
    slurm: FakeSlurm, alice: User, tenant: Tenant, cluster: Cluster, token: str
) -> None:
    assert submit(token, cluster, named(1))["accepted"] == 1
    cluster.identities.filter(membership__user=alice).update(active=False)
    submit(token, cluster, named(2), status=409, key="l")
    Membership.objects.filter(user=alice, tenant=tenant).update(suspended_at="2026-01-01T00:00Z")
    submit(token, cluster, named(2), status=401, key="m")
    assert len(slurm.submitted) == 1
