"""One normaliser for all that slurmrestd and what stands before it say instead of a result."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import JobChanges
from clusters.clients.slurmrest.models import SubmitRequest
from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from portal.lib.http import Answer, NoAnswer, NotSent
from tests.cases import case
from tests.contract.slurmrest.replay import (
    ACCOUNT,
    VERSIONS,
    Replay,
    answer,
    gateway,
    having,
    recorded,
    recording,
)

TRUE = SubmitRequest(script="#!/bin/bash\ntrue\n", environment={"PATH": "/bin"})
VAGUE = {"errors": [{"error": "Unspecified error", "errno": -1}], "jobs": []}
UNEXPECTED = {"errors": [{"error_number": 1000, "error": "Unexpected message received"}], "results": None}
LEFT_OVER = {"errors": [{"error_number": 1, "error": "Operation not permitted"}]}
HUNG_UP = {"errors": [{"error_code": 5005, "error": "Zero Bytes were transmitted or received"}]}
BAD_KEY = {
    "errors": [
        {
            "description": "Invalid cpu_frequency",
            "error_number": -1,
            "error": "Unspecified error",
            "source": "#/job/cpu_frequency/",
        }
    ]
}
LOST = NoAnswer("ConnectionLost", "lost")
HTML = Answer(500, "text/html", b"<html><script>x()</script><h1>Bad\nGateway</h1></html>")


@pytest.mark.parametrize("version", having("expired-token-jobs"))
def test_a_dead_token_on_a_read(version: str) -> None:
    with pytest.raises(errors.TokenRefused):
        gateway(version, recorded(version, "expired-token-jobs")).jobs()


@pytest.mark.parametrize("version", having("expired-token-submit"))
def test_a_dead_token_on_a_submit(version: str) -> None:
    then = recorded(version, "expired-token-jobs")
    with pytest.raises(errors.TokenRefused):
        gateway(version, recorded(version, "expired-token-submit"), then).submit(TRUE)


def test_the_same_words_with_a_living_token_are_unclear() -> None:
    asked = gateway("v0.0.38", answer(500, HUNG_UP), recorded("v0.0.38", "diag"))
    with pytest.raises(errors.Unclear):
        asked.submit(TRUE)


def test_the_same_code_about_a_key_of_the_request_is_a_refusal() -> None:
    with pytest.raises(errors.SlurmRefused, match="Invalid cpu_frequency"):
        gateway("v0.0.42", answer(500, BAD_KEY)).submit(TRUE)


def test_a_vague_error_that_took_long_is_a_missing_controller() -> None:
    with pytest.raises(errors.TokenRefused):
        gateway("v0.0.38", answer(500, VAGUE, seconds=0.02)).jobs()
    with pytest.raises(errors.NotReachable):
        gateway("v0.0.38", answer(500, VAGUE, seconds=9.0)).jobs()


@pytest.mark.parametrize("version", having("no-token"))
def test_a_missing_token(version: str) -> None:
    with pytest.raises(errors.TokenRefused):
        gateway(version, recorded(version, "no-token")).jobs()


@case("U18")
@pytest.mark.parametrize("version", having("unknown-path"))
def test_a_path_that_is_not_there_asks_for_discovery(version: str) -> None:
    with pytest.raises(errors.VersionGone, match=version):
        gateway(version, recorded(version, "unknown-path")).jobs()


@pytest.mark.parametrize(
    "entry",
    [
        {"error": "Invalid job id specified", "error_code": 2017},
        {"description": "d", "error_number": 2017, "error": "Invalid job id specified", "source": "s"},
        {"error": "Invalid job id specified", "errno": 2017},
    ],
)
@pytest.mark.parametrize("status", [200, 404, 500])
def test_all_shapes_with_any_status_mean_the_same(entry: dict[str, object], status: int) -> None:
    assert gateway("v0.0.38", answer(status, {"errors": [entry], "jobs": []})).job(1) == ()
    with pytest.raises(errors.UnknownJob):
        gateway("v0.0.38", answer(status, {"errors": [entry]})).cancel("1")


def test_the_fourth_shape_is_told_in_its_words() -> None:
    with pytest.raises(errors.SlurmRefused, match="Unknown key"):
        gateway("v0.0.38", answer(400, {"errors": [{"description": "Unknown key", "source": "x"}]})).submit(
            TRUE
        )


@pytest.mark.parametrize("code", [2002, 2010])
def test_another_accounts_job(code: int) -> None:
    entry = {"error_number": code, "error": "Access/permission denied"}
    with pytest.raises(errors.NotPermitted):
        gateway("v0.0.38", answer(500, {"errors": [entry]})).cancel("5")


def test_an_error_beside_a_list_is_believed_and_the_list_is_not() -> None:
    body = {"errors": [{"error": "Something", "error_code": 7000}], "jobs": []}
    with pytest.raises(errors.SlurmRefused):
        gateway("v0.0.38", answer(200, body)).jobs()


@case("U16", "U18")
@pytest.mark.parametrize(
    "bad",
    [
        HTML,
        Answer(502, "text/plain", b"Bad Gateway"),
        Answer(502, "", b""),
        Answer(200, "text/html", b"<html><form>Please log in</form></html>"),
        Answer(200, "application/json", b'{"errors": [], "jobs": [{"job_id": 1, "job_st'),
        Answer(200, "application/json", b""),
        Answer(200, "application/json", b"{}"),
        Answer(200, "application/json", b"[]"),
        Answer(200, "application/json", b'{"jobs": null}'),
        Answer(200, "application/json", b'{"jobs": [{"job_id": "7", "job_state": "RUNNING"}]}'),
        Answer(200, "application/json", b'{"jobs": [{"job_state": "RUNNING"}]}'),
        Answer(200, "application/json", b"[" * 100_000),
        Answer(302, "text/html", b"moved"),
        Answer(404, "text/html", b"<h1>not here</h1>"),
        Answer(401, "text/html", b"<h1>who are you</h1>"),
    ],
    ids=lambda a: f"{a.status} {a.body[:24]!r}",
)
def test_what_is_not_slurms_is_temporary_and_shows_none_of_it(bad: Answer) -> None:
    assert gateway("v0.0.38", recorded("v0.0.38", "jobs-all-head")).jobs() is not None
    with pytest.raises(errors.BadAnswer) as caught:
        gateway("v0.0.38", bad).jobs()
    assert isinstance(caught.value, TemporaryError)
    for word in ("<", "script", "log in", "Gateway", "Traceback"):
        assert word not in caught.value.message
    assert len(caught.value.extract) < 420
    assert "<h1>" not in caught.value.extract
    assert "x()" not in caught.value.extract


@case("U10", "U16")
@pytest.mark.parametrize(
    "bad",
    [
        LOST,
        NoAnswer("NoAnswerInTime", "slow", timed_out=True),
        HTML,
        Answer(502, "text/plain", b"Bad Gateway"),
        Answer(200, "text/html", b"<html>login</html>"),
        Answer(200, "application/json", b'{"job_id": 1'),
        Answer(200, "application/json", b"{}"),
        answer(500, {"errors": [{"error_code": 5004, "error": "Socket timed out on send/recv operation"}]}),
    ],
    ids=str,
)
def test_a_submit_without_a_clear_answer_is_unclear_and_sent_once(bad: Answer | Exception) -> None:
    assert gateway("v0.0.38", recorded("v0.0.38", "submit-ok")).submit(TRUE).job_id
    asked = gateway("v0.0.38", bad)
    with pytest.raises(errors.Unclear):
        asked.submit(TRUE)
    assert isinstance(asked._outside, Replay)
    assert [method for method, _, _ in asked._outside.asked] == ["POST"]
    with pytest.raises(errors.Unclear):
        gateway("v0.0.38", bad if not (isinstance(bad, Answer) and bad.body == b"{}") else LOST).cancel("3")


@case("U16")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_change_that_slurmctld_did_not_answer_is_unclear(version: str) -> None:
    """Seen with a slurmctld that hangs: what it was asked for is done when it goes on."""
    changes = JobChanges(time_limit_minutes=7)
    assert gateway(version, answer(200, {"errors": [], "results": []})).update("1", changes) is not None
    with pytest.raises(errors.Unclear):
        gateway(version, answer(500, UNEXPECTED, seconds=9.0)).update("1", changes)


def test_a_change_with_a_dead_token_was_not_made() -> None:
    dead = recorded("v0.0.38", "expired-token-jobs")
    with pytest.raises(errors.TokenRefused):
        gateway("v0.0.38", answer(500, UNEXPECTED), dead).update("1", JobChanges(time_limit_minutes=7))


@case("U16")
@pytest.mark.parametrize("status", [500, 403])
def test_a_cancel_that_slurmctld_did_not_answer_is_unclear(status: int) -> None:
    body = recording("v0.0.42", "job-running-gpu")["body"]
    body["jobs"][0]["user_name"] = ACCOUNT
    own = answer(200, body)
    gateway("v0.0.42", own, recorded("v0.0.42", "cancel-ok")).cancel("1")
    with pytest.raises(errors.Unclear):
        gateway("v0.0.42", own, answer(status, LEFT_OVER, seconds=9.0)).cancel("1")


@pytest.mark.parametrize(
    ("status", "kind"), [(400, errors.SlurmRefused), (401, errors.TokenRefused), (404, errors.VersionGone)]
)
def test_a_clear_no_in_plain_text_is_a_no(status: int, kind: type[OutsideError]) -> None:
    asked = gateway("v0.0.38", answer(status, "Unable to parse query."))
    with pytest.raises(kind):
        asked.submit(TRUE)
    with pytest.raises(kind):
        asked.cancel("3")


def test_what_was_not_handed_over_may_be_tried_again() -> None:
    no_controller = answer(
        500, {"errors": [{"error_code": 1800, "error": "Unable to contact slurm controller"}]}
    )
    for bad in (NotSent("NotReachable", "no"), no_controller):
        with pytest.raises(errors.NotReachable):
            gateway("v0.0.38", bad).submit(TRUE)


def test_only_a_look_at_one_job_is_asked_twice_and_only_after_a_lost_connection() -> None:
    good = recorded("v0.0.38", "job-completed")
    assert len(gateway("v0.0.38", LOST, good).job(14)) == 1
    slow = NoAnswer("NoAnswerInTime", "slow", timed_out=True)
    for first, second in ((slow, good), (LOST, LOST)):
        with pytest.raises(errors.NotReachable):
            gateway("v0.0.38", first, second).job(14)
    with pytest.raises(errors.NotReachable):
        gateway("v0.0.38", LOST, recorded("v0.0.38", "jobs-all-head")).jobs()


def test_kinds_of_failure() -> None:
    temporary = (
        errors.NotReachable,
        errors.BadAnswer,
        errors.Unclear,
        errors.TokenRefused,
        errors.VersionGone,
    )
    assert all(issubclass(kind, TemporaryError) for kind in temporary)
    assert all(issubclass(kind, PermanentError) for kind in (errors.SlurmRefused, errors.NoCommonVersion))
    assert all(issubclass(kind, OutsideError) for kind in (errors.UnknownJob, errors.NotPermitted))


def test_slurms_words_are_one_clean_line() -> None:
    entry = {"error_code": 2000, "error": "bad\r\n\x1b[31mpartition\u2028" + "x" * 999}
    with pytest.raises(errors.SlurmRefused) as caught:
        gateway("v0.0.38", answer(500, {"errors": [entry]})).submit(TRUE)
    assert caught.value.message.startswith("bad [31mpartition x")
    assert len(caught.value.message) == 300
