"""Every reason that a Slurm from 22.05 to 26.05 can give has a sentence and an advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import translation

from jobs.reasons import reason_of
from jobs.words import why_waiting

REASONS = [
    line.split()[0]
    for line in Path(__file__).with_name("reasons").joinpath("reasons.txt").read_text().splitlines()
]
SENTENCES = [
    "ReqNodeNotAvail, UnavailableNodes:n[1-2]",
    "ReqNodeNotAvail, Reserved for maintenance",
    "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
    "RaisedSignal:9(Killed)",
    "launch failure limit exceeded requeued held",
    "job requeued in special exit state",
    "Reservation maint was deleted",
    "Burst buffer pre_run error",
    "uid 1001 not in group permitted to use this partition (train). groups allowed: lab",
]


def test_the_list_is_whole() -> None:
    assert len(REASONS) == len(set(REASONS)) == 221


@pytest.mark.parametrize("reason", [*REASONS, *SENTENCES, "", "None"])
def test_each_reason_is_told_with_an_advice(reason: str) -> None:
    told = reason_of(reason)
    what, advice = str(told.what), str(told.advice)
    assert "Slurm says" not in what
    assert "%" not in what
    assert what.endswith(".")
    assert advice.endswith(".")
    assert what != advice


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("QOSGrpCpuLimit", "All jobs of its QOS together have reached the limit for CPUs."),
        (
            "AssocGrpCPURunMinutesLimit",
            "All jobs of its Slurm account together have reached the limit for CPUs, by the minute.",
        ),
        ("QOSMaxWallDurationPerJobLimit", "It asks for more than one job may have: the limit for time."),
        ("QOSMaxJobsPerUserLimit", "Its submitter's jobs together have reached the limit for running jobs."),
        (
            "QOSMinGRES",
            "It asks for less than its QOS wants at least: the limit for GPUs and other generic resources.",
        ),
        ("MaxMemoryPerAccount", "All jobs of its Slurm account together have reached the limit for memory."),
    ],
)
def test_limits_say_whose_and_of_what(reason: str, told: str) -> None:
    assert why_waiting(reason) == told


def test_a_word_of_a_later_slurm_is_shown_as_it_is() -> None:
    assert why_waiting("MoonPhase") == "Slurm says: MoonPhase."


def test_reasons_speak_the_readers_language() -> None:
    english = why_waiting("Resources")
    with translation.override("de"):
        assert why_waiting("Resources") != english
