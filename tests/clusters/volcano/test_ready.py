"""When Volcano works: its default queue takes jobs, and one was run."""

from __future__ import annotations

import pytest

from clusters.drivers.volcano.steps import job_taken, queue_open


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown", ""])
def test_a_queue_that_is_not_open_is_told(state: str) -> None:
    assert queue_open({"status": {"state": "Open"}}).ready
    assert queue_open({"status": {"state": state}}).reason == "QueueNotOpen"
    assert queue_open(None).reason == "QueueMissing"


@pytest.mark.parametrize("phase", ["Running", "Completing", "Completed"])
def test_a_job_that_runs_or_has_run_is_the_proof(phase: str) -> None:
    assert job_taken({"status": {"state": {"phase": phase}}}).ready


@pytest.mark.parametrize("phase", ["Aborted", "Failed", "Terminated"])
def test_a_job_that_ended_otherwise_says_so(phase: str) -> None:
    state = job_taken({"status": {"state": {"phase": phase, "message": "no image"}}})
    assert (state.reason, state.message) == ("SmokeJobFailed", f"The test job is {phase}: no image")


@pytest.mark.parametrize("found", [{}, {"status": {}}, {"status": {"state": {"phase": "Pending"}}}])
def test_a_job_that_waits_is_waited_for(found: dict[str, object]) -> None:
    assert job_taken(found).reason == "SmokeJobWaits"
