"""What real slurmdbds answered, in each API version that was recorded, read into one shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.accounting import LONGEST_WINDOW, RestAccounting, merged
from clusters.clients.slurmrest.dialects import dialect_for
from clusters.clients.slurmrest.dialects.books import books_dialect_for
from clusters.clients.slurmrest.models import ExitCode, JobId
from clusters.clients.slurmrest.past import AssociationLimits, PastJob
from clusters.clients.slurmrest.rules import DENIES, Bounds, Settings
from portal.lib.http import Answer
from tests.cases import case

RECORDED = Path(__file__).parents[2] / "recorded" / "slurmrestd"
VERSIONS = ("v0.0.38", "v0.0.40", "v0.0.42", "v0.0.44")


def recorded(version: str, name: str) -> Answer:
    """An answer as it came."""
    found = json.loads((RECORDED / version / f"{name}.json").read_text(encoding="utf-8"))
    return Answer(found["status"], "application/json", json.dumps(found["body"]).encode())


def answer(**body: Any) -> Answer:
    return Answer(200, "application/json", json.dumps(body).encode())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_reads_alike_in_every_version(version: str) -> None:
    (job,) = books_dialect_for(version).jobs(recorded(version, "db-job-ok"))
    assert (job.name, job.user, job.account, job.partition) == ("ok", "alice", "research", "debug")
    assert (job.state, job.reason, job.cpus, job.memory_mib) == ("COMPLETED", "", 1, 100)
    assert job.end_time is not None
    assert job.start_time is not None
    assert job.elapsed == job.end_time - job.start_time
    assert job.array_job_id is None
    assert job.use.cpu_seconds is not None
    assert 0 < job.use.cpu_seconds < 1


@pytest.mark.parametrize("version", VERSIONS)
def test_steps_read_alike_in_every_version(version: str) -> None:
    (job,) = books_dialect_for(version).jobs(recorded(version, "db-job-ok"))
    (step,) = job.steps
    assert (job.step_count, step.step, step.name, step.state) == (1, "batch", "batch", "COMPLETED")
    assert (step.exit_code, step.node_count, step.tasks) == (ExitCode(), 1, 1)
    assert step.start_time is not None
    assert step.end_time == step.start_time + step.elapsed
    assert step.cpu_seconds == job.use.cpu_seconds
    assert step.memory_mib is None, "not gathered there"
    (ended,) = books_dialect_for(version).jobs(recorded(version, "db-job-gpu-cancelled"))
    assert [(one.state, one.exit_code) for one in ended.steps] == [("CANCELLED", ExitCode(signal=15))]
    (failed,) = books_dialect_for(version).jobs(recorded(version, "db-job-fail"))
    # v0.0.38 says 0 of a step that failed
    assert failed.steps[0].exit_code == (None if version == "v0.0.38" else ExitCode(status=3))


@pytest.mark.parametrize("version", VERSIONS)
def test_of_very_many_steps_the_first_and_the_last_are_kept(version: str) -> None:
    body = json.loads(recorded(version, "db-job-ok").body)
    (one,) = body["jobs"][0]["steps"]
    mem = {"type": "mem", "name": "", "count": 3 * 1024 * 1024 + 1}
    many = [
        one | {"step": {"id": number, "name": "srun"}, "tres": {"requested": {"max": [mem]}}}
        for number in range(3000)
    ]
    many.append(one | {"step": {"id": {"of": "a version to come"}}, "state": ["RUNNING"]})
    body["jobs"][0]["steps"] = many
    (job,) = books_dialect_for(version).jobs(answer(**body))
    assert (job.step_count, len(job.steps)) == (3001, 100)
    assert [step.step for step in job.steps[:2]] == ["0", "1"]
    assert (job.steps[-2].step, job.steps[-2].memory_mib) == ("2999", 4)
    assert (job.steps[-1].step, job.steps[-1].state) == ("", "RUNNING")


@case("U15")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_exit_code_is_taken_only_from_versions_that_tell_it_right(version: str) -> None:
    (job,) = books_dialect_for(version).jobs(recorded(version, "db-job-fail"))
    assert job.state == "FAILED"
    assert job.exit_code == (None if version == "v0.0.38" else ExitCode(status=3))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rest_of_an_array_that_never_started_is_no_task(version: str) -> None:
    jobs = books_dialect_for(version).jobs(recorded(version, "db-job-array"))
    rest = [job for job in jobs if job.is_waiting_rest]
    assert [(job.array_task_id, job.nodes) for job in rest] == [(None, "")]
    assert all(job.array_job_id == jobs[0].array_job_id for job in jobs)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["db-jobs-empty", "db-job-unknown"])
def test_nothing_found_is_an_empty_list(version: str, name: str) -> None:
    assert books_dialect_for(version).jobs(recorded(version, name)) == ()


@case("U15")
def test_an_empty_list_with_an_error_is_not_no_jobs() -> None:
    away = {"errors": [{"error_number": 7000, "error": "Unable to connect to database"}], "jobs": []}
    for version in VERSIONS:
        with pytest.raises(errors.NotReachable):
            books_dialect_for(version).jobs(answer(**away))
        with pytest.raises(errors.BadAnswer):
            books_dialect_for(version).jobs(answer(errors=[]))
        assert books_dialect_for(version).jobs(answer(errors=[], jobs=[])) == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_users_associations_and_qos(version: str) -> None:
    books = books_dialect_for(version)
    users = {user.name: user.is_administrator for user in books.users(recorded(version, "db-users"))}
    assert (users["alice"], users["root"]) == (False, True)
    found = books.associations(recorded(version, "db-associations"))
    assert {"root", "research"} <= {one.limits.account for one in found}
    assert all(one.limits.gpus is None and one.limits.running_jobs is None for one in found)
    assert [qos.name for qos in books.qos(recorded(version, "db-qos"))] == ["normal"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_lifted_limit_is_written_out(version: str) -> None:
    body = books_dialect_for(version).encode_limits(
        AssociationLimits(account="a", cluster="c", user="fhabcd")
    )
    assert "null" not in json.dumps(body)
    assert body["max"]["tres"]["total"][0]["count"] == -1


@pytest.mark.parametrize(
    "ask",
    [
        lambda gateway: gateway.jobs(10, 10),
        lambda gateway: gateway.jobs(0, LONGEST_WINDOW + 1),
        lambda gateway: gateway.job("abc"),
        lambda gateway: gateway.add_user("root", account="a", cluster="c"),
        lambda gateway: gateway.add_user("fhabcd", account="a,b", cluster="c"),
        lambda gateway: gateway.set_limits(AssociationLimits(account="a&b", cluster="c")),
    ],
)
def test_what_would_kill_or_mislead_slurmrestd_is_never_sent(ask: Callable[[RestAccounting], object]) -> None:
    def token() -> str:
        raise AssertionError("something was about to be sent")

    with pytest.raises(ValueError, match=r".") as refused:
        ask(RestAccounting("http://127.0.0.1:1", "v0.0.38", "fhabcd", token))
    assert not isinstance(refused.value, AssertionError)


def test_of_a_job_that_was_started_again_the_last_record_counts() -> None:
    first = PastJob(job_id=JobId(1), submit_time=5, start_time=10, state="NODE_FAIL")
    again = PastJob(job_id=JobId(1), submit_time=5, start_time=20, state="COMPLETED")
    older = PastJob(job_id=JobId(1), submit_time=2, start_time=3, state="FAILED")
    assert set(merged([again, first, older])) == {again, older}


RULES = ("v0.0.38", "v0.0.40", "v0.0.42", "v0.0.45")


@pytest.mark.parametrize("version", RULES)
def test_limits_of_a_qos_read_alike_in_every_version(version: str) -> None:
    read = {one.name: one for one in books_dialect_for(version).qos(recorded(version, "db-qos-limits"))}
    assert (read["high"].priority, read["high"].preempts, read["high"].bounds) == (
        100,
        ("normal",),
        Bounds(wall_minutes=60),
    )
    assert DENIES in read["tiny"].flags
    assert read["tiny"].bounds == Bounds(
        wall_minutes=30, running=1, submitted=2, per_job={"cpu": 3}, per_user={"cpu": 4, "gres/gpu": 2}
    )
    capped = read["capped"].bounds
    assert (capped.together, capped.per_account, capped.per_node) == (
        {"gres/gpu": 2},
        {"cpu": 6},
        {"cpu": 2},
    )
    assert (capped.least, capped.minutes_per_job, capped.all_running) == ({"cpu": 2}, {"cpu": 100}, 3)
    # of older versions these are not told, which is no limit that we could hold anybody to
    is_new = version in {"v0.0.42", "v0.0.45"}
    assert (capped.minutes, capped.all_submitted) == (({"cpu": 10}, 5) if is_new else ({}, None))


@pytest.mark.parametrize("version", RULES)
def test_limits_and_qos_of_an_account_and_of_its_user_read_alike(version: str) -> None:
    found = books_dialect_for(version).associations(recorded(version, "db-associations-limits"))
    account, user = sorted(found, key=lambda one: one.limits.user)
    assert (account.limits.user, account.parent, account.limits.gpus) == ("", "root", 4)
    bounds = account.bounds
    assert (bounds.minutes, bounds.together) == ({"cpu": 1000, "gres/gpu": 600}, {"gres/gpu": 4})
    assert (bounds.running, bounds.all_running, bounds.all_submitted, bounds.wall_minutes) == (
        40,
        50,
        90,
        600,
    )
    assert (set(user.qos), user.default_qos) == ({"normal", "high", "tiny", "capped"}, "")
    assert (user.bounds.wall_minutes, user.bounds.per_job, user.bounds.minutes) == (600, {"node": 2}, {})


@pytest.mark.parametrize("version", RULES)
def test_who_may_use_a_partition_reads_alike(version: str) -> None:
    found = {one.name: one for one in dialect_for(version).partitions(recorded(version, "partitions-rules"))}
    assert (found["closed"].allowed_accounts, found["closed"].denied_accounts) == ("other", "")
    assert (found["deny"].denied_accounts, found["pqos"].allowed_qos) == ("research", "high")
    assert (found["dqos"].denied_qos, found["partq"].qos, found["closed"].qos) == ("high", "partq", "")


@pytest.mark.parametrize("version", RULES[1:])
def test_use_is_told_of_accounts_and_users(version: str) -> None:
    account, user = books_dialect_for(version).shares(recorded(version, "shares"))
    assert (account.account, account.user, user.account) == ("research", "", "research")
    assert user.user.startswith("fht")
    assert account.used_seconds["gres/gpu"] == 0.0


def test_newest_slurm_tells_what_it_holds_to() -> None:
    told = books_dialect_for("v0.0.45").settings(recorded("v0.0.45", "conf"))
    assert told == Settings(enforces=("associations", "limits", "qos"), max_array_size=1001)
    assert books_dialect_for("v0.0.45").settings(answer(errors=[])) == Settings()
