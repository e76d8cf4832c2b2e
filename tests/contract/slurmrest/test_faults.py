"""The gateway before a server that misbehaves: readers see the last state, a submit is never doubled."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from clusters.clients.slurmrest import errors, versions
from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.dialects import dialect_for
from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from portal.lib.errors import OutsideError
from portal.lib.http import Outside
from portal.lib.types import JSONDict
from tests.cases import case
from tests.contract.slurmrest.faults import FaultServer, Handler, faults
from tests.contract.slurmrest.replay import ACCOUNT, VERSIONS, recording

TRUE = SubmitRequest(script="#!/bin/bash\ntrue\n", environment={"PATH": "/bin"})
LOGIN = b"<!doctype html><title>Sign in</title><script>alert(1)</script>"


def html_500(handler: Handler) -> None:
    """A proxy's page."""
    handler.say(500, b"<html><body><h1>Internal Server Error</h1></body></html>", "text/html")


def word_502(handler: Handler) -> None:
    """One word."""
    handler.say(502, b"Bad", "text/plain")


def login_200(handler: Handler) -> None:
    """A captive portal."""
    handler.say(200, LOGIN, "text/html")


def half_json(handler: Handler) -> None:
    """Cut in the middle, with the length that it should have had."""
    whole = json.dumps(recording("v0.0.38", "jobs-all-head")["body"]).encode()
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole) + whole[: len(whole) // 2]
    )
    handler.close_connection = True


def half_json_without_length(handler: Handler) -> None:
    """Cut, and nothing says so."""
    whole = json.dumps(recording("v0.0.38", "jobs-all-head")["body"]).encode()
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + whole[: len(whole) // 2])
    handler.close_connection = True


def too_slow(handler: Handler) -> None:
    """No answer while anybody waits."""
    handler.server.stopped.wait()


ALL: list[Callable[[Handler], None]] = [
    html_500,
    word_502,
    login_200,
    half_json,
    half_json_without_length,
    too_slow,
    Handler.reset,
]


def gateway(server: FaultServer, version: str = "v0.0.38") -> RestGateway:
    return RestGateway(server.url, version, ACCOUNT, lambda: "token", 0.5)


@case("U16")
@pytest.mark.parametrize("behave", ALL, ids=lambda b: b.__name__)
def test_a_poll_fails_temporarily_and_shows_nothing_foreign(behave: Callable[[Handler], None]) -> None:
    with faults(behave) as server:
        with pytest.raises((errors.NotReachable, errors.BadAnswer)) as caught:
            gateway(server).jobs()
        assert len(server.requests) == 1
    assert caught.value.status == 503
    assert "<" not in caught.value.message
    assert "Traceback" not in caught.value.message


@case("U10")
@pytest.mark.parametrize("behave", ALL, ids=lambda b: b.__name__)
def test_a_submit_is_unclear_and_sent_exactly_once(behave: Callable[[Handler], None]) -> None:
    with faults(behave) as server:
        with pytest.raises(errors.Unclear):
            gateway(server).submit(TRUE)
        assert server.requests == ["POST /slurm/v0.0.38/job/submit"]


@case("U10")
@pytest.mark.parametrize("behave", ALL, ids=lambda b: b.__name__)
def test_of_several_each_is_sent_once_and_an_unclear_one_is_told(behave: Callable[[Handler], None]) -> None:
    taken = json.dumps(recording("v0.0.38", "submit-ok")["body"]).encode()

    def every_other(handler: Handler) -> None:
        is_bad = b'"name":"bad"' in handler.sent
        behave(handler) if is_bad else handler.say(200, taken)

    names = ["good", "bad", "good"] * 3
    several = [msgspec.structs.replace(TRUE, name=name) for name in names]
    with faults(every_other) as server:
        answers = dict(gateway(server).submit_each(several, at_once=4))
        assert len(server.requests) == 9
    assert sorted(answers) == list(range(9))
    for number, answer in answers.items():
        assert isinstance(answer, errors.Unclear if names[number] == "bad" else SubmitResult)


@case("U10")
def test_an_answer_that_came_is_not_lost_while_another_is_judged() -> None:
    taken = json.dumps(recording("v0.0.38", "submit-ok")["body"]).encode()
    vague = json.dumps({"errors": [{"error": "Unspecified error", "error_code": -1}]}).encode()
    said = threading.Semaphore(0)

    def behave(handler: Handler) -> None:
        if handler.command == "GET":  # whether the token is dead; this takes longer than a submit may
            handler.server.stopped.wait(1.0)
            handler.say(200, b"{}")
            return
        handler.say(500, vague) if b'"name":"bad"' in handler.sent else handler.say(200, taken)
        said.release()

    def several() -> Iterator[SubmitRequest]:
        for name in ("bad", "good", "good", "good"):
            yield msgspec.structs.replace(TRUE, name=name)
        for _ in range(4):  # all answers have come before the first is looked at
            assert said.acquire(timeout=20)

    with faults(behave) as server:
        answers = dict(gateway(server).submit_each(several(), at_once=8))
        assert any(asked.startswith("GET") for asked in server.requests), "one was judged for a second"
    assert isinstance(answers[0], errors.Unclear)
    assert all(isinstance(answers[number], SubmitResult) for number in (1, 2, 3))


@case("U10")
def test_what_must_not_be_sent_is_told_and_the_others_are_sent() -> None:
    taken = json.dumps(recording("v0.0.38", "submit-ok")["body"]).encode()
    wrong = msgspec.structs.replace(TRUE, name="a\nb")
    with faults(lambda handler: handler.say(200, taken)) as server:
        answers = dict(gateway(server).submit_each([TRUE, wrong, TRUE], at_once=2))
        assert len(server.requests) == 2
    assert isinstance(answers[1], ValueError)
    assert isinstance(answers[0], SubmitResult)
    assert isinstance(answers[2], SubmitResult)


@pytest.mark.parametrize("behave", ALL, ids=lambda b: b.__name__)
def test_an_unclear_look_never_says_that_a_job_is_gone(behave: Callable[[Handler], None]) -> None:
    with faults(behave) as server, pytest.raises(OutsideError):
        gateway(server).job(5)


def _document(*offered: str) -> JSONDict:
    return {"paths": {f"/slurm/{version}/ping": {"get": {}} for version in offered}}


def _serve(*offered: str) -> Callable[[Handler], None]:
    """A slurmrestd that serves these versions only."""

    def behave(handler: Handler) -> None:
        version = handler.path.split("/")[2]
        if handler.path == "/openapi/v3":
            handler.say(200, json.dumps(_document(*offered)).encode())
        elif version in offered:
            known = version if version in VERSIONS else "v0.0.45" if version > "v0.0.45" else "v0.0.38"
            body = {"meta": {"Slurm": {"release": "23.11.10"}}, "pings": [{"pinged": "UP", "hostname": "vm"}]}
            handler.say(
                200, json.dumps(body if version == "v0.0.39" else recording(known, "ping")["body"]).encode()
            )
        else:
            handler.say(404, b"Unable find requested URL.", "text/plain")

    return behave


@case("U18")
@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["v0.0.41"], "v0.0.41"),
        (["v0.0.45"], "v0.0.45"),
        (["v0.0.36", "v0.0.37", "v0.0.38"], "v0.0.38"),
        (["v0.0.42", "v0.0.44", "v0.0.43"], "v0.0.44"),
        (["v0.0.99", "v0.0.40"], "v0.0.40"),
        (["v0.0.99", "v0.0.46", "v0.0.47"], "v0.0.46"),  # none of ours: the nearest, as our newest
        (["v0.0.39", "v0.0.38"], "v0.0.39"),
    ],
)
def test_the_newest_shared_version_is_chosen(offered: list[str], chosen: str) -> None:
    with faults(_serve(*offered)) as server:
        found = versions.discover(server.url, ACCOUNT, lambda: "token")
    assert found.api == chosen
    assert found.release
    assert set(found.offered) == set(offered)


@case("U18")
def test_none_in_common_names_both_lists() -> None:
    with faults(_serve("v0.0.20", "v0.0.37")) as server, pytest.raises(errors.NoCommonVersion) as caught:
        versions.discover(server.url, ACCOUNT, lambda: "token")
    for word in ("v0.0.38", "v0.0.45", "v0.0.20", "v0.0.37"):
        assert word in caught.value.message


@case("U18")
def test_after_an_upgrade_the_old_version_asks_for_discovery() -> None:
    with faults(_serve("v0.0.45")) as server:
        with pytest.raises(errors.VersionGone):
            gateway(server, "v0.0.41").ping()
        found = versions.discover(server.url, ACCOUNT, lambda: "token")
        assert gateway(server, found.api).ping().responding


@case("U18")
def test_a_cluster_that_serves_only_another_version_is_asked_and_then_spoken_to() -> None:
    with faults(_serve("v0.0.41")) as server:
        with pytest.raises(errors.VersionGone):
            gateway(server, "v0.0.44").ping()
        found = versions.discover(server.url, ACCOUNT, lambda: "token")
        assert (found.api, gateway(server, found.api).ping().responding) == ("v0.0.41", True)


def test_versions_that_are_not_spoken_have_no_dialect() -> None:
    for version in ("v0.0.38", "v0.0.39", "v0.0.46", "v0.0.120"):
        assert dialect_for(version) is not None
    for version in ("v0.0.37", "v0.0.36", "v0.1.40", "0.0.40", ""):
        with pytest.raises(ValueError):
            dialect_for(version)


@pytest.mark.parametrize("behave", ALL, ids=lambda b: b.__name__)
def test_discovery_of_something_else_is_temporary(behave: Callable[[Handler], None]) -> None:
    with faults(behave) as server, pytest.raises((errors.NotReachable, errors.BadAnswer)):
        versions.discover(server.url, ACCOUNT, lambda: "token", timeout=0.5)


def test_one_session_serves_many_accounts() -> None:
    with faults(_serve("v0.0.38")) as server:
        session = Outside(server.url)
        for account in ("fhaaaa", "fhbbbb"):
            RestGateway(server.url, "v0.0.38", account, lambda: "t", session=session).ping()
        session.close()
    assert [headers["X-SLURM-USER-NAME"] for headers in server.headers] == ["fhaaaa", "fhbbbb"]
