"""Changes of jobs: what is sent, what is never sent, and what Slurm's answers to it mean."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import CannotAsk, JobChanges
from clusters.clients.slurmrest.client import TRIES, RestGateway
from clusters.clients.slurmrest.models import UNLIMITED
from portal.lib.errors import TemporaryError
from portal.lib.http import Answer, NoAnswer
from portal.lib.types import JSONDict
from tests.cases import case
from tests.contract.slurmrest.replay import (
    ACCOUNT,
    NEW,
    OLD,
    VERSIONS,
    Replay,
    answer,
    gateway,
    having,
    recorded,
    recording,
)

COMMENT = JobChanges(comment="changed")


def asked(version: str, *answers: Answer | Exception) -> tuple[RestGateway, Replay]:
    """A gateway, and what it asks."""
    replay = Replay(*answers)
    return RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=replay), replay


def sent(version: str, changes: JobChanges) -> JSONDict:
    """The body that goes out."""
    speaker, replay = asked(version, answer(200, {"errors": []}))
    speaker.update("12", changes)
    ((method, path, body),) = replay.asked
    assert (method, path) == ("POST", f"/slurm/{version}/job/12")
    found: JSONDict = json.loads(body or b"")
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_a_change_is_sent_as_slurm_took_it(version: str) -> None:
    assert len(having("update-ok")) == len(VERSIONS)
    changes = JobChanges(comment="changed", time_limit_minutes=4, nice=5)
    assert sent(version, changes) == recording(version, "update-ok")["request"]["body"]
    result = gateway(version, recorded(version, "update-ok")).update("12", changes)
    assert (result.warnings, result.refused, result.is_certain) == ((), (), True)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_field_in_the_versions_form(version: str) -> None:
    old = version in OLD
    number = (lambda value: value) if old else (lambda value: {"set": True, "number": value})
    forms: list[tuple[JobChanges, JSONDict]] = [
        (JobChanges(hold=True), {"hold": True}),
        (JobChanges(hold=False), {"hold": False}),
        (JobChanges(partition="gpu", dependency=""), {"partition": "gpu", "dependency": ""}),
        (JobChanges(begin=2_000_000_000), {"begin_time": "uts2000000000" if old else number(2_000_000_000)}),
        (JobChanges(memory_mib=0), {"memory_per_node": number(0)}),
        (JobChanges(memory_per_cpu_mib=5), {"memory_per_cpu": number(5)}),
        (JobChanges(priority=7), {"priority": number(7)}),
        (JobChanges(requeue=True), {"requeue": True}),
        (JobChanges(requeue=False), {"no_requeue": True} if old else {"requeue": False}),
        (JobChanges(nodes=2), {"nodes": "2"}),
        (JobChanges(array_throttle=4), {"array": "4"}),
        (JobChanges(reservation="maint", licenses="x:1"), {"reservation": "maint", "licenses": "x:1"}),
        (JobChanges(constraints="a&b"), {"constraints": "a&b"}),
        (JobChanges(qos="high", account="lab"), {"qos": "high", "account": "lab"}),
    ]
    for changes, body in forms:
        assert sent(version, changes) == body
    limit = sent(version, JobChanges(time_limit_minutes=UNLIMITED))["time_limit"]
    assert limit == "UNLIMITED" if old else limit["infinite"] is True


def test_what_a_version_would_ignore_is_refused_by_name_and_not_sent() -> None:
    changes = JobChanges(name="new", comment="changed")
    assert sent("v0.0.40", changes) == {"name": "new", "comment": "changed"}
    speaker, replay = asked("v0.0.38", recorded("v0.0.38", "update-ok"))
    with pytest.raises(CannotAsk, match=r"v0\.0\.38 cannot change this: name") as caught:
        speaker.update("12", changes)
    assert (caught.value.fields, replay.asked) == (("name",), [])


@case("U12")
@pytest.mark.parametrize("version", [*NEW, "v0.0.39"])
def test_one_task_is_not_changed_where_slurm_would_refuse_or_change_all(version: str) -> None:
    old, first = asked("v0.0.38", recorded("v0.0.38", "update-task"))
    assert not old.update("12_3", COMMENT).is_certain
    assert first.asked[0][1].endswith("/job/12_3")
    speaker, replay = asked(version, answer(200, {"errors": []}))
    with pytest.raises(CannotAsk) as caught:
        speaker.update("12_3", COMMENT)
    assert (caught.value.fields, replay.asked) == (("task",), [])


@case("U12")
def test_one_task_is_not_cancelled_where_that_would_end_the_array() -> None:
    speaker, replay = asked("v0.0.39", answer(200, {"errors": []}))
    with pytest.raises(CannotAsk):
        speaker.cancel("12_3")
    assert replay.asked == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_change_of_an_array(version: str) -> None:
    result = gateway(version, recorded(version, "update-array")).update("12", JobChanges(array_throttle=2))
    assert result.is_certain == (version in NEW)  # 22.05 says "failed" of each that was made


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("update-unknown-job", errors.UnknownJob, 2017),
        ("update-foreign", errors.NotPermitted, 2010),
        ("update-finished", errors.SlurmRefused, 2084),
    ],
)
def test_refusals(version: str, name: str, kind: type[errors.SlurmRefused], code: int) -> None:
    with pytest.raises(kind) as caught:
        gateway(version, recorded(version, name)).update("12", COMMENT)
    assert caught.value.code == code


def test_an_unknown_key_with_status_200_is_a_refusal() -> None:
    with pytest.raises(errors.SlurmRefused, match="Unknown key"):
        gateway("v0.0.38", recorded("v0.0.38", "update-bad-key")).update("12", COMMENT)


@pytest.mark.parametrize("version", NEW)
def test_what_slurm_put_off_is_asked_again_and_not_for_ever(version: str) -> None:
    later = recorded(version, "update-put-off")
    changes = JobChanges(partition="gpu")
    speaker, replay = asked(version, later, later, recorded(version, "update-ok"))
    assert speaker.update("12", changes).is_certain
    assert len(replay.asked) == 3
    speaker, replay = asked(version, later)
    with pytest.raises(errors.TryAgain) as caught:
        speaker.update("12", changes)
    assert len(replay.asked) == TRIES
    assert isinstance(caught.value, TemporaryError)


def test_tasks_that_were_refused_are_named() -> None:
    results = [
        {"job_id": 5, "error_code": 0, "error": "No error", "why": ""},
        {"job_id": 6, "error_code": 2073, "error": "Job is no longer pending execution", "why": ""},
    ]
    result = gateway("v0.0.44", answer(200, {"results": results, "errors": []})).update("5", COMMENT)
    assert result.refused == (("6", "Job is no longer pending execution"),)
    with pytest.raises(errors.SlurmRefused) as caught:
        gateway("v0.0.44", answer(200, {"results": results[1:], "errors": []})).update("5", COMMENT)
    assert caught.value.code == 2073


def test_a_priority_that_slurm_may_change_again_is_done_with_a_warning() -> None:
    said = {"error_number": 2095, "error": "Changes to job priority are not persistent"}
    result = gateway("v0.0.38", answer(200, {"errors": [said]})).update("5", JobChanges(priority=3))
    assert result.warnings == ("Changes to job priority are not persistent",)


@case("U10")
@pytest.mark.parametrize(
    "bad",
    [
        NoAnswer("ConnectionLost", "lost"),
        Answer(502, "text/plain", b"Bad"),
        Answer(200, "text/html", b"<html>"),
        Answer(200, "application/json", b"[]"),
    ],
    ids=str,
)
def test_without_a_clear_answer_it_is_unclear_and_sent_once(bad: Answer | Exception) -> None:
    speaker, replay = asked("v0.0.44", bad)
    with pytest.raises(errors.Unclear):
        speaker.update("12", COMMENT)
    assert [method for method, _, _ in replay.asked] == ["POST"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"name": ""},
        {"partition": ""},
        {"name": "two\nlines"},
        {"comment": "nul\0"},
        {"comment": "x" * 1025},
        {"time_limit_minutes": 0},
        {"nodes": 0},
        {"memory_mib": -1},
        {"array_throttle": -1},
        {"memory_mib": 1, "memory_per_cpu_mib": 1},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_never_sent(bad: JSONDict) -> None:
    speaker, replay = asked("v0.0.44", answer(200, {"errors": []}))
    speaker.update("12", JobChanges(comment="", nice=-5, memory_mib=0, array_throttle=0))
    with pytest.raises(ValueError):
        speaker.update("12", JobChanges(**bad))
    with pytest.raises(ValueError):
        speaker.update("12; 13", COMMENT)
    assert len(replay.asked) == 1


@given(st.text(max_size=40))
def test_any_name_of_a_job_but_a_number_or_a_task_is_refused(job: str) -> None:
    speaker, replay = asked("v0.0.38", answer(200, {"errors": []}))
    try:
        speaker.update(job, COMMENT)
    except ValueError:
        assert replay.asked == []
    else:
        assert job.replace("_", "", 1).isascii() and job.replace("_", "", 1).isdigit()
