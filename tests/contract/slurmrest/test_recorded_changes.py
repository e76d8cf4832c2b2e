"""Submits and cancels: what is sent is what was recorded as accepted, and each refusal is told apart."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.models import UNLIMITED, GpuRequest, SubmitRequest
from portal.lib.http import Answer
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

ENVIRONMENT = {"PATH": "/bin:/usr/bin"}
TRUE = SubmitRequest(script="#!/bin/bash\ntrue\n", environment=ENVIRONMENT, working_directory="/scratch")


def sent(version: str, request: SubmitRequest) -> JSONDict:
    """The body that goes out."""
    replay = Replay(recorded(version, "submit-ok"))
    RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=replay).submit(request)
    ((method, path, body),) = replay.asked
    assert (method, path) == ("POST", f"/slurm/{version}/job/submit")
    found: JSONDict = json.loads(body or b"")
    return found


@pytest.mark.parametrize("version", having("submit-gpu"))
def test_a_gpu_job_is_sent_as_slurm_accepted_it(version: str) -> None:
    request = SubmitRequest(
        script="#!/bin/bash\nsleep 30\n",
        environment=ENVIRONMENT,
        working_directory="/scratch",
        name="gpu",
        gpus=GpuRequest(count=2),
        cpus_per_task=2,
        tasks=1,
        memory_mib=500,
        time_limit_minutes=5,
        partition="gpu",
    )
    assert sent(version, request) == recording(version, "submit-gpu")["request"]["body"]


@pytest.mark.parametrize("version", having("submit-hold"))
def test_a_held_job_is_sent_as_slurm_accepted_it(version: str) -> None:
    request = SubmitRequest(
        script="#!/bin/bash\ntrue\n",
        environment=ENVIRONMENT,
        working_directory="/scratch",
        name="held",
        hold=True,
    )
    assert sent(version, request) == recording(version, "submit-hold")["request"]["body"]


@case("U08")
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_left_blank_is_no_key_at_all(version: str) -> None:
    assert set(sent(version, TRUE)["job"]) == {"current_working_directory", "environment"}


@case("U06")
@pytest.mark.parametrize("version", VERSIONS)
def test_memory_zero_is_really_sent(version: str) -> None:
    request = SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, memory_mib=0)
    expected = 0 if version in OLD else {"set": True, "number": 0}
    assert sent(version, request)["job"]["memory_per_node"] == expected


@case("U07")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_environment_arrives_whole(version: str) -> None:
    values = {"A": "b=c", "GREET": "héllo", "LINES": "one\ntwo", "EMPTY": ""}
    found = sent(version, SubmitRequest(script="#!/bin/sh\n", environment=values))["job"]["environment"]
    assert found == (values if version in OLD else [f"{name}={value}" for name, value in values.items()])


@pytest.mark.parametrize("version", VERSIONS)
def test_gpus_in_all_and_of_a_model(version: str) -> None:
    gpus = GpuRequest(count=3, model="h100", per="job")
    job = sent(version, SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, gpus=gpus))["job"]
    assert job["gpus" if version in OLD else "tres_per_job"] == (
        "h100:3" if version in OLD else "gres/gpu:h100:3"
    )
    assert "gres" not in job


@pytest.mark.parametrize("version", VERSIONS)
def test_unlimited_time_is_said_in_the_versions_way(version: str) -> None:
    request = SubmitRequest(script="#!/bin/sh\n", environment=ENVIRONMENT, time_limit_minutes=UNLIMITED)
    limit = sent(version, request)["job"]["time_limit"]
    assert limit == "UNLIMITED" if version in OLD else limit["infinite"] is True


@pytest.mark.parametrize(
    "bad",
    [
        {"script": "echo no shebang\n"},
        {"script": "#!/bin/bash\r\ntrue\r\n"},
        {"script": "#!/bin/bash\n\0"},
        {"script": ""},
        {"environment": {}},
        {"environment": {"": "x"}},
        {"environment": {"A=B": "x"}},
        {"environment": {"BIG": "x" * 131072}},
        {"name": "two\nlines"},
        {"name": "n" * 1025},
        {"comment": "nul\0"},
        {"nodes": 0},
        {"tasks": -1},
        {"time_limit_minutes": 0},
        {"gpus": GpuRequest(count=0)},
        {"memory_mib": 1, "memory_per_cpu_mib": 1},
    ],
    ids=str,
)
@case("U01")
def test_what_slurm_would_take_and_then_fail_is_never_sent(bad: JSONDict) -> None:
    good: JSONDict = {"script": "#!/bin/bash\n", "environment": ENVIRONMENT}
    replay = Replay(recorded("v0.0.38", "submit-ok"))
    asked = RestGateway("http://127.0.0.1:1", "v0.0.38", ACCOUNT, lambda: "token", session=replay)
    assert asked.submit(SubmitRequest(**good)).job_id
    with pytest.raises(ValueError):
        asked.submit(SubmitRequest(**(good | bad)))
    assert len(replay.asked) == 1


@pytest.mark.parametrize("version", having("submit-ok"))
def test_an_accepted_job(version: str) -> None:
    result = gateway(version, recorded(version, "submit-ok")).submit(TRUE)
    assert result.job_id > 0
    # that one was recorded with a plain number as time limit
    assert bool(result.warnings) == (version == "v0.0.40")


@pytest.mark.parametrize("name", ["submit-hold", "submit-over-limit"])
def test_with_a_job_id_errors_are_warnings(name: str) -> None:
    result = gateway("v0.0.38", recorded("v0.0.38", name)).submit(TRUE)
    assert result.job_id > 0
    assert len(result.warnings) == 1


def test_a_job_id_decides_whatever_the_status_says() -> None:
    body = recording("v0.0.38", "submit-over-limit")["body"]
    assert gateway("v0.0.38", answer(500, body)).submit(TRUE).job_id == body["job_id"]


@pytest.mark.parametrize("version", having("submit-bad-partition"))
def test_a_refusal_names_code_and_field(version: str) -> None:
    with pytest.raises(errors.SlurmRefused) as caught:
        gateway(version, recorded(version, "submit-bad-partition")).submit(TRUE)
    assert (caught.value.code, caught.value.field) == (2000, "partition")
    assert caught.value.message == "Invalid partition name specified"


def test_an_unknown_key_is_told_in_slurms_words() -> None:
    with pytest.raises(errors.SlurmRefused, match='Unknown key "bogus"'):
        gateway("v0.0.38", recorded("v0.0.38", "submit-unknown-key")).submit(TRUE)


def owned(version: str, account: str = ACCOUNT) -> Answer:
    """The look at a job that comes before its cancel."""
    body = recording(version, "job-running-gpu")["body"]
    body["jobs"][0]["user_name"] = account
    return answer(200, body)


@pytest.mark.parametrize("version", having("cancel-ok"))
def test_cancel(version: str) -> None:
    gone = recorded(version, "cancel-ok")
    looks = [] if version in OLD else [owned(version)]
    replay = Replay(*looks, gone, gone)
    asked = RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=replay)
    asked.cancel("12_3")
    asked.cancel("12", signal="USR1")
    base = f"/slurm/{version}/job"
    sent = [one for one in replay.asked if one[0] != "GET"]
    assert sent == [("DELETE", f"{base}/12_3", None), ("DELETE", f"{base}/12?signal=USR1", None)]
    seen = [path for method, path, _ in replay.asked if method == "GET"]
    assert seen == ([] if version in OLD else [f"{base}/12"])  # one look for all tasks of a job


@pytest.mark.parametrize("version", NEW)
def test_anothers_job_is_not_even_asked_to_end(version: str) -> None:
    replay = Replay(owned(version), recorded(version, "cancel-unknown"), owned(version, "fhsomebody"))
    asked = RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=replay)
    with suppress(errors.UnknownJob):
        asked.cancel("12")
    with pytest.raises(errors.NotPermitted):
        asked.cancel("13")
    assert [method for method, _, _ in replay.asked] == ["GET", "DELETE", "GET"]


@pytest.mark.parametrize("version", having("cancel-unknown"))
def test_cancel_of_an_unknown_job(version: str) -> None:
    looks = [] if version in OLD else [recorded(version, "job-unknown")]
    asked = gateway(version, *looks, recorded(version, "cancel-unknown"))
    with pytest.raises(errors.UnknownJob):
        asked.cancel("999999")


@pytest.mark.parametrize("version", having("cancel-foreign"))
def test_a_refusal_in_the_status_of_a_job(version: str) -> None:
    with pytest.raises(errors.NotPermitted):
        gateway(version, owned(version), recorded(version, "cancel-foreign")).cancel("1")


@pytest.mark.parametrize("version", [version for version in having("cancel-again") if version in NEW])
def test_a_finished_job_may_be_cancelled(version: str) -> None:
    replay = Replay(owned(version), recorded(version, "cancel-again"))
    RestGateway("http://127.0.0.1:1", version, ACCOUNT, lambda: "token", session=replay).cancel("2")
    assert [method for method, _, _ in replay.asked] == ["GET", "DELETE"]


@pytest.mark.parametrize("version", [version for version in NEW if version > "v0.0.41"])
def test_a_job_that_goes_between_the_look_and_its_cancel(version: str) -> None:
    with pytest.raises(errors.UnknownJob):
        gateway(version, owned(version), recorded(version, "cancel-unknown")).cancel("999999")


@case("U12")
@pytest.mark.parametrize("job", ["", "abc", "12_[1-2]", "0", "-1", "12+0", "12_3_4", "12 ", "12/../13", "٣"])
def test_cancel_takes_numbers_and_single_tasks_only(job: str) -> None:
    replay = Replay(recorded("v0.0.38", "cancel-ok"))
    asked = RestGateway("http://127.0.0.1:1", "v0.0.38", ACCOUNT, lambda: "token", session=replay)
    asked.cancel("12_3")
    with pytest.raises(ValueError):
        asked.cancel(job)
    assert len(replay.asked) == 1


def test_every_new_version_has_the_new_family() -> None:
    assert [len(OLD), len(NEW)] == [1, 6]
