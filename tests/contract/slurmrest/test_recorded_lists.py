"""The short lists: states, reservations, licenses; the same from every version that has them."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.listings import JobState
from tests.cases import case
from tests.contract.slurmrest.replay import NEW, OLD, VERSIONS, answer, gateway, having, recorded


@pytest.mark.parametrize("version", VERSIONS)
def test_licenses(version: str) -> None:
    assert len(having("licenses-some")) == len(VERSIONS)
    found = {one.name: one for one in gateway(version, recorded(version, "licenses-some")).licenses()}
    assert {name: one.total for name, one in found.items()} == {"matlab": 4, "fluent": 2}
    matlab = found["matlab"]
    assert (matlab.used + matlab.free, matlab.reserved, matlab.is_remote) == (4, 0, False)


@pytest.mark.parametrize("version", VERSIONS)
def test_reservations(version: str) -> None:
    assert len(having("reservations-some")) == len(VERSIONS)
    (found,) = gateway(version, recorded(version, "reservations-some")).reservations()
    assert (found.name, found.nodes, found.node_count, found.users) == ("maint", "alpha-n1", 1, "alice")
    assert found.start_time is not None and found.end_time is not None
    assert found.end_time - found.start_time == 7200
    assert "IGNORE_JOBS" in found.flags


@pytest.mark.parametrize("name", ["licenses", "reservations"])
@pytest.mark.parametrize("version", having("licenses"))
def test_none_of_them(version: str, name: str) -> None:
    assert getattr(gateway(version, recorded(version, name)), name)() == ()


@case("U12")
@pytest.mark.parametrize("version", NEW)
def test_states_name_tasks_and_parts(version: str) -> None:
    asked = gateway(version, recorded(version, "states"))
    assert asked.lists_states
    found = asked.states()
    tasks = {(one.number, one.task): one.state for one in found if one.task is not None}
    started = 1 if version == "v0.0.40" else 6  # the array's id, or the task's own
    assert tasks[(started, 0)] == "RUNNING"
    assert tasks[(1, 3)] == "PENDING"
    assert JobState(number=2, state="RUNNING") in found
    assert {one.het_offset: one.number for one in found if one.het_offset is not None} == {0: 4, 1: 5}


def test_the_record_of_an_array_whose_tasks_all_have_their_own() -> None:
    body = {"jobs": [{"job_id": "7_*", "state": ["COMPLETED", "COMPLETING"]}]}
    (found,) = gateway("v0.0.44", answer(200, body)).states()
    assert found == JobState(number=7, state="COMPLETED", flags=frozenset({"COMPLETING"}), is_array=True)


def test_a_name_of_a_job_that_is_none_is_no_answer() -> None:
    good = {"jobs": [{"job_id": "7", "state": ["RUNNING"]}]}
    assert len(gateway("v0.0.44", answer(200, good)).states()) == 1
    with pytest.raises(errors.BadAnswer):
        gateway("v0.0.44", answer(200, {"jobs": [{"job_id": "seven", "state": ["RUNNING"]}]})).states()


def test_the_old_version_has_no_such_list_and_says_so_before_it_is_asked() -> None:
    assert [gateway(version, answer(404, "no")).lists_states for version in (*OLD, "v0.0.39", *NEW)] == [
        *[False] * (len(OLD) + 1),
        *[True] * len(NEW),
    ]


@pytest.mark.parametrize("version", NEW)
def test_a_ping_that_hides_a_dead_token(version: str) -> None:
    down = answer(200, {"pings": [{"hostname": "vm", "pinged": "DOWN", "responding": False}]})
    dead = recorded(version, "expired-token-jobs")
    with pytest.raises(errors.TokenRefused):
        gateway(version, down, dead).ping()
    gone = answer(500, {"errors": [{"error_number": 1800, "error": "Unable to contact slurm controller"}]})
    assert not gateway(version, down, gone).ping().responding
