"""Submitting by API: the same checks as the form's, once for each key."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.clients.slurmrest import errors
from clusters.models import Cluster
from jobs.models import Job, Submission
from jobs.services.requests import unseal_environment
from tenants.models import AuditEvent, Role, Tenant, User
from tests.api.calls import make_token, send
from tests.builders import make_member
from tests.cases import case
from tests.jobs.builders import SCRIPT, make_job, make_submission
from tests.jobs.fakes import FakeSlurm

pytestmark = [pytest.mark.django_db, pytest.mark.matrix]
HERE = "/api/v1/t/aurora/"


@pytest.fixture
def token(alice: User, tenant: Tenant) -> str:
    return make_token(alice, tenant, ["jobs"])


def ask(
    token: str, method: str, path: str, body: Any = None, *, status: int = 200, key: str | None = None
) -> Any:
    answer = send(token, method, HERE + path, body, key=key)
    assert answer.status_code == status, answer.content
    return answer.json()


def submit(token: str, cluster: Cluster, *, status: int = 201, key: str = "new", **fields: Any) -> Any:
    body = {"script": SCRIPT, "name": "by-api"} | fields
    return ask(token, "post", f"clusters/{cluster.pk}/jobs/", body, status=status, key=key)


def test_a_job_is_submitted_with_what_was_asked(
    slurm: FakeSlurm, alice: User, cluster: Cluster, token: str
) -> None:
    made = submit(
        token,
        cluster,
        nodes=1,
        cpus_per_task=2,
        gpus="a100:1",
        memory="0",
        time_limit="0:30:00",
        array="0-3%2",
        environment={"A": "b=c", "GREET": "héllo", "EMPTY": "", "SPACED": " x "},
    )
    assert made["state"] == "accepted"
    assert made["slurm_job_id"] == made["job"]["slurm_job_id"]
    assert made["user"]["id"] == str(alice.pk)
    (sent,) = slurm.submitted
    assert (sent.name, sent.nodes, sent.cpus_per_task, sent.memory_mib) == ("by-api", 1, 2, 0)
    assert (sent.time_limit_minutes, sent.array) == (30, "0-3%2")
    assert {name: sent.environment[name] for name in ("A", "GREET", "EMPTY", "SPACED")} == {
        "A": "b=c",
        "GREET": "héllo",
        "EMPTY": "",
        "SPACED": " x ",
    }
    origins = {line["label"]: line["origin"] for line in made["lines"]}
    assert origins["Name"] == "API"
    event = AuditEvent.objects.get(verb="job.submitted")
    assert (event.via, event.actor_user) == ("api", alice)


@case("U08")
def test_what_is_absent_or_empty_is_not_sent(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    submit(token, cluster, account="", qos="", partition="", memory="")
    (sent,) = slurm.submitted
    absent = ("account", "qos", "partition", "memory_mib", "nodes", "reservation", "dependency", "array")
    assert [name for name in absent if getattr(sent, name) is not None] == []


@case("U10")
def test_one_key_is_one_job(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    first, second = submit(token, cluster, key="k"), submit(token, cluster, key="k")
    assert first == second
    assert len(slurm.submitted) == 1
    assert submit(token, cluster, key="k", name="other", status=422)["status"] == 422
    submit(token, cluster, key="k2")
    assert len(slurm.submitted) == 2


@case("U10")
def test_a_lost_answer_is_202_and_the_submission_tells_more(
    slurm: FakeSlurm, cluster: Cluster, token: str
) -> None:
    slurm.lost = True
    made = submit(token, cluster, key="k", status=202)
    assert (made["state"], made["job"]) == ("checking", None)
    assert submit(token, cluster, key="k", status=202)["id"] == made["id"]
    assert len(slurm.submitted) == 1
    assert ask(token, "get", f"submissions/{made['id']}/")["state"] == "checking"
    ask(token, "post", f"submissions/{made['id']}/again/", status=409)


def test_what_did_not_arrive_is_sent_again(
    slurm: FakeSlurm, alice: User, cluster: Cluster, token: str
) -> None:
    lost = make_submission(cluster, alice, state="absent")
    made = ask(token, "post", f"submissions/{lost.pk}/again/", status=201)
    assert (made["id"], made["state"]) == (str(lost.pk), "accepted")
    assert len(slurm.submitted) == 1
    assert [row["id"] for row in ask(token, "get", "submissions/")["items"]] == [str(lost.pk)]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"script": "echo no shebang\n"}, {"script"}),
        ({"memory": "16 apples", "time_limit": "soon"}, {"memory", "time_limit"}),
        ({"memory": "1G", "memory_per_cpu": "1G"}, {"memory"}),
        ({"array": "5-1"}, {"array"}),
        ({"nodes": 0}, {"nodes"}),
        ({"nodes": 3}, {"nodes"}),
        ({"partition": "nowhere"}, {"partition"}),
        ({"name": "two\nlines"}, {"name"}),
        ({"name": "x" * 300}, {"name"}),
        ({"environment": {"A": "one\nB=two"}}, {"environment"}),
        ({"environment": {"": "x"}}, {"environment"}),
        ({"environment": {"A B": "x"}}, {"environment"}),
        ({"environment": {"SLURM_JOB_ID": "1"}}, {"environment"}),
        ({"environment": {"A": None}}, {"environment.A"}),
    ],
)
def test_problems_stand_at_the_names_of_the_api(
    slurm: FakeSlurm, cluster: Cluster, token: str, fields: Any, wrong: set[str]
) -> None:
    submit(token, cluster)
    assert set(submit(token, cluster, status=400, **fields)["errors"]) == wrong
    path = f"clusters/{cluster.pk}/jobs/check/"
    found = ask(token, "post", path, {"script": SCRIPT} | fields, status=400)
    assert set(found["errors"]) == wrong
    assert len(slurm.submitted) == 1


def test_what_there_is_not_is_named_and_never_dropped(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    told = {"ntasks": ["There is no such value."]}
    assert submit(token, cluster, status=400, ntasks=4)["errors"] == told
    many = {"jobs": [{"script": SCRIPT}, {"script": SCRIPT, "ntasks": 4}]}
    found = ask(token, "post", f"clusters/{cluster.pk}/jobs/many/", many, status=400, key="new")
    assert found["errors"] == {"jobs.1.ntasks": ["There is no such value."]}
    assert ask(token, "get", "jobs/?stat=RUNNING", status=400)["errors"].keys() == {"stat"}
    assert not slurm.submitted


@case("U07")
def test_no_line_break_makes_a_second_variable(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    for text in ("x\nLD_PRELOAD=/tmp/x.so", "x\r\nB=1", "x\rB=1"):
        submit(token, cluster, status=400, environment={"A": text})
    assert slurm.submitted == []


def test_slurms_refusal_is_told_and_the_key_is_spent(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    slurm.refusal = errors.SlurmRefused(2066, "Invalid qos specification", field="qos")
    assert "qos" in submit(token, cluster, status=400, key="k")["errors"]
    slurm.refusal = None
    found = submit(token, cluster, status=409, key="k")
    assert "Invalid qos" in found["detail"]
    assert slurm.submitted == []
    submit(token, cluster, key="k2")


def test_an_api_that_cannot_be_reached_is_503_and_nothing_was_sent(
    slurm: FakeSlurm, cluster: Cluster, token: str
) -> None:
    slurm.fault = errors.NotReachable("gone")
    found = submit(token, cluster, status=503)
    assert found["reason"]
    assert slurm.submitted == []
    assert Submission.objects.get().state == "refused"


def test_a_check_stores_and_sends_nothing(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    body = {"script": "#!/bin/bash\r\n#SBATCH --gpus-per-node=1\r\necho\r\n", "time_limit": "60"}
    found = ask(token, "post", f"clusters/{cluster.pk}/jobs/check/", body)
    origins = {line["label"]: line["origin"] for line in found["lines"]}
    assert (origins["Time limit"], origins["GPUs per node"]) == ("API", "line 2")
    assert found["gpu_hours"] == 1.0
    assert isinstance(found["notes"], list)
    assert not Submission.objects.exists()
    assert slurm.submitted == []


def test_a_cluster_that_is_not_ready_is_409(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    submit(token, cluster)
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False)
    assert "being removed" in submit(token, cluster, status=409)["detail"]


def test_values_of_the_environment_are_the_submitters(
    slurm: FakeSlurm, tenant: Tenant, cluster: Cluster, token: str
) -> None:
    made = submit(token, cluster, environment={"SECRET": "hunter2"})
    job = Job.objects.get(pk=made["job"]["id"])
    mine = ask(token, "get", f"jobs/{job.pk}/sent/")
    assert mine["environment"]["SECRET"] == "hunter2"
    assert mine["script"] == SCRIPT
    assert unseal_environment(Submission.objects.get())["SECRET"] == "hunter2"
    admin = make_token(make_member(tenant, Role.ADMIN), tenant)
    theirs = send(admin, "get", f"{HERE}jobs/{job.pk}/sent/")
    assert theirs.json()["environment"]["SECRET"] is None
    assert b"hunter2" not in theirs.content
    others = make_token(make_member(tenant, Role.MEMBER), tenant)
    ask(others, "get", f"jobs/{job.pk}/sent/", status=403)


def test_a_job_from_elsewhere_has_nothing_sent(alice: User, cluster: Cluster, token: str) -> None:
    job = make_job(cluster, alice)
    assert "not submitted here" in ask(token, "get", f"jobs/{job.pk}/sent/", status=404)["detail"]


def test_one_command_is_wrapped_as_sbatch_does(slurm: FakeSlurm, cluster: Cluster, token: str) -> None:
    body = {"wrap": "python train.py", "nodes": 1}
    ask(token, "post", f"clusters/{cluster.pk}/jobs/", body, status=201, key="wrapped")
    (sent,) = slurm.submitted
    assert (sent.name, sent.script.splitlines()[0], sent.script.splitlines()[-1]) == (
        "wrap",
        "#!/bin/sh",
        "python train.py",
    )
    for wrong in ({}, body | {"script": SCRIPT}):
        found = ask(token, "post", f"clusters/{cluster.pk}/jobs/", wrong, status=400, key="wrong")
        assert "script" in found["errors"]


def test_a_check_tells_prices_to_those_who_see_them(
    slurm: FakeSlurm, tenant: Tenant, cluster: Cluster, token: str
) -> None:
    pool = cluster.pools.get()
    pool.name, pool.price_per_hour = "train", 4
    pool.save(update_fields=["name", "price_per_hour"])
    body = {"script": SCRIPT, "gpus": "2", "time_limit": "60"}
    path = f"clusters/{cluster.pk}/jobs/check/"
    assert ask(token, "post", path, body)["cost"] is None
    admin = make_token(make_member(tenant, Role.ADMIN), tenant)
    assert (ask(admin, "post", path, body)["cost"], ask(admin, "post", path, body)["gpu_hours"]) == (
        "4.00",
        2.0,
    )
