"""Jobs by API: lists with filters, one job, what happened, cancel, output."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from clusters.clients.slurmrest import errors
from clusters.models import Cluster
from jobs import outside
from jobs.models import Job, JobEvent
from jobs.output_reader.client import ReaderNotReachable
from jobs.output_reader.protocol import OutputChunk
from portal.lib import clock
from tenants.models import AuditEvent, Role, Tenant, User
from tests.api.calls import make_token, send
from tests.builders import make_member
from tests.cases import case
from tests.jobs.builders import make_job
from tests.jobs.fakes import FakeSlurm

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HERE = "/api/v1/t/aurora/"


@pytest.fixture
def bob(tenant: Tenant) -> User:
    return make_member(tenant, Role.MEMBER)


@pytest.fixture
def token(alice: User, tenant: Tenant) -> str:
    return make_token(alice, tenant)


def ask(token: str, method: str, path: str, *, status: int = 200) -> Any:
    answer = send(token, method, HERE + path)
    assert answer.status_code == status, answer.content
    return answer.json()


def names(token: str, query: str = "") -> list[str]:
    return [row["name"] for row in ask(token, "get", f"jobs/{query}")["items"]]


def test_lists_are_mine_or_everyones_and_filtered(
    tenant: Tenant, alice: User, bob: User, cluster: Cluster, token: str
) -> None:
    for owner, name, state in (
        (alice, "a-runs", "RUNNING"),
        (alice, "a-waits", "PENDING"),
        (alice, "a-failed", "FAILED"),
        (bob, "b-done", "COMPLETED"),
    ):
        make_job(cluster, owner, name=name, state=state)
    assert names(token) == ["a-runs", "a-waits", "a-failed"]
    assert names(token, "?who=everyone") == ["a-runs", "a-waits", "b-done", "a-failed"]
    assert names(token, "?state=pending") == ["a-waits"]
    assert names(token, "?state=failed&who=everyone") == ["a-failed"]
    assert names(token, "?text=RUNS") == ["a-runs"]
    number = Job.objects.get(name="b-done").slurm_job_id
    assert names(token, f"?who=everyone&text={number}") == ["b-done"]
    assert names(token, f"?cluster={cluster.pk}") == names(token)
    assert names(token, "?cluster=00000000-0000-4000-8000-000000000000") == []
    queue = ask(token, "get", f"clusters/{cluster.pk}/queue/")["items"]
    assert [row["name"] for row in queue] == ["a-runs", "a-waits"]
    for query in ("?state=lost", "?who=them", "?cluster=x", "?text=%00"):
        ask(token, "get", f"jobs/{query}", status=400)


@pytest.mark.parametrize("address", ["jobs/?who=everyone&", "clusters/{}/queue/?"])
def test_pages_go_over_all_states(alice: User, cluster: Cluster, token: str, address: str) -> None:
    for number in range(7):
        at = clock.now() - dt.timedelta(minutes=number % 3)
        make_job(cluster, alice, state="RUNNING" if number % 2 else "PENDING", submit_time=at)
    seen: list[str] = []
    path = f"{HERE}{address.format(cluster.pk)}limit=2"
    while path:
        page = send(token, "get", path.removeprefix("http://testserver")).json()
        seen += [row["id"] for row in page["items"]]
        path = page["next"]
    assert len(seen) == len(set(seen)) == 7
    states = [Job.objects.get(pk=key).state for key in seen]
    assert states == sorted(states, reverse=True)


@case("U15")
def test_a_job_says_how_it_ended(alice: User, cluster: Cluster, token: str) -> None:
    job = make_job(cluster, alice, state="OUT_OF_MEMORY", exit_status=0)
    found = ask(token, "get", f"jobs/{job.pk}/")
    assert (found["state"], found["exit_status"], found["is_active"]) == ("OUT_OF_MEMORY", 0, False)
    assert "more memory" in found["said"]
    assert found["advice"]
    waits = ask(token, "get", f"jobs/{make_job(cluster, alice, state='PENDING', reason='Priority').pk}/")
    assert waits["said"] == "Other jobs come first. It starts when it is its turn."
    assert waits["advice"] == "A shorter time limit lets Slurm fit it into gaps sooner."
    assert ask(token, "get", f"jobs/{make_job(cluster, alice).pk}/")["said"] == ""


@case("U03")
def test_any_name_comes_whole(alice: User, cluster: Cluster, token: str) -> None:
    odd = "数据-训练 🚀 <img src=x> $(id) a|b"
    job = make_job(cluster, alice, name=odd)
    assert ask(token, "get", f"jobs/{job.pk}/")["name"] == odd
    assert names(token) == [odd]


def test_events_come_the_oldest_first(alice: User, cluster: Cluster, token: str) -> None:
    job = make_job(cluster, alice)
    for state in ("PENDING", "RUNNING"):
        JobEvent.objects.create(job=job, at=clock.now(), state=state)
    found = ask(token, "get", f"jobs/{job.pk}/events/")["items"]
    assert [row["state"] for row in found] == ["PENDING", "RUNNING"]


@case("U12")
def test_a_task_is_cancelled_by_its_own_address(
    slurm: FakeSlurm, alice: User, cluster: Cluster, token: str
) -> None:
    job = make_job(cluster, alice, slurm_job_id=507, array_job_id=500, array_task_id=7)
    assert ask(token, "get", f"jobs/{job.pk}/")["label"] == "500_7"
    ask(token, "post", f"jobs/{job.pk}/cancel/")
    assert [address for _, address in slurm.cancelled] == ["500_7"]
    assert AuditEvent.objects.get(verb="job.cancelled").via == "api"


def test_only_own_jobs_are_cancelled_and_only_active_ones(
    slurm: FakeSlurm, alice: User, bob: User, cluster: Cluster, token: str
) -> None:
    theirs, ended = make_job(cluster, bob), make_job(cluster, alice, state="COMPLETED")
    ask(token, "post", f"jobs/{theirs.pk}/cancel/", status=403)
    assert "already ended" in ask(token, "post", f"jobs/{ended.pk}/cancel/", status=409)["detail"]
    slurm.fault = errors.NotReachable("gone")
    ask(token, "post", f"jobs/{make_job(cluster, alice).pk}/cancel/", status=503)
    assert slurm.cancelled == []


class Output:
    """What the reader answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chunk = OutputChunk(state="ok", size=6, offset=0, data=b"hello\n")
        self.fault: Exception | None = None
        self.asked: list[tuple[str, int | None]] = []
        monkeypatch.setattr(outside, "read_output", self.read)

    def read(self, job: Job, stream: str, offset: int | None = None) -> OutputChunk:
        self.asked.append((stream, offset))
        if self.fault is not None:
            raise self.fault
        return self.chunk


@pytest.fixture
def output(monkeypatch: pytest.MonkeyPatch) -> Output:
    return Output(monkeypatch)


def test_output_is_read_in_parts(output: Output, alice: User, cluster: Cluster, token: str) -> None:
    path = f"jobs/{make_job(cluster, alice).pk}/output/"
    found = ask(token, "get", path)
    assert (found["text"], found["next_offset"], found["at_end"]) == ("hello\n", 6, True)
    assert found["job_ended"] is False
    ask(token, "get", f"{path}?offset=6&stream=stderr")
    assert output.asked == [("stdout", None), ("stderr", 6)]
    for query in ("?offset=-1", "?offset=x", f"?offset={2**62}", "?stream=both"):
        ask(token, "get", path + query, status=400)


@case("U21")
@pytest.mark.parametrize(
    ("data", "state", "text", "taken"),
    [
        ("né".encode()[:2], "RUNNING", "n", 1),  # the rest of the letter is still to come
        ("né".encode()[:2], "COMPLETED", "n\ufffd", 2),
        (b"\xc3", "RUNNING", "\ufffd", 1),  # nothing else came: the reader must get on
        (b"<b>\xff\x1b[31m\r", "COMPLETED", "<b>\ufffd\x1b[31m\r", 10),
        (b"", "RUNNING", "", 0),
    ],
)
def test_no_letter_is_cut_and_no_byte_is_lost(
    output: Output, alice: User, cluster: Cluster, token: str, data: bytes, state: str, text: str, taken: int
) -> None:
    output.chunk = OutputChunk(state="ok", size=len(data), offset=0, data=data)
    found = ask(token, "get", f"jobs/{make_job(cluster, alice, state=state).pk}/output/?offset=0")
    assert (found["text"], found["next_offset"]) == (text, taken)


def test_what_cannot_be_read_is_told(output: Output, alice: User, cluster: Cluster, token: str) -> None:
    job = make_job(cluster, alice)
    output.chunk = OutputChunk(state="missing")
    assert ask(token, "get", f"jobs/{job.pk}/output/")["state"] == "missing"
    waiting = make_job(cluster, alice, state="PENDING")
    output.asked.clear()
    assert ask(token, "get", f"jobs/{waiting.pk}/output/")["state"] == "missing"
    assert output.asked == []
    output.fault = ReaderNotReachable()
    assert ask(token, "get", f"jobs/{job.pk}/output/", status=503)["reason"] == "OutputReaderNotReachable"


def test_output_is_for_its_owner_and_admins_whose_token_may_read(
    output: Output, tenant: Tenant, alice: User, bob: User, cluster: Cluster
) -> None:
    path = f"jobs/{make_job(cluster, alice).pk}/output/"
    admin = make_member(tenant, Role.ADMIN)
    for person, scopes, status in (
        (alice, ["read"], 200),
        (alice, ["jobs"], 200),
        (alice, ["people"], 403),
        (bob, ["read", "jobs"], 403),
        (admin, ["read"], 200),
        (admin, ["jobs"], 403),  # own ones only
    ):
        ask(make_token(person, tenant, scopes), "get", path, status=status)
