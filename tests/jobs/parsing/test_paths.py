"""Paths of output files with Slurm's patterns written out."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest.models import JobId, JobRecord
from jobs.parsing.paths import output_paths

HOME = "/home/fhabcd"


def record(**columns: object) -> JobRecord:
    facts = {"job_id": JobId(12), "name": "train", "state": "RUNNING", "working_directory": HOME, **columns}
    return JobRecord(**facts)  # type: ignore[arg-type]


TASK = {"job_id": JobId(15), "array_job_id": 12, "array_task_id": 3}


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ({}, f"{HOME}/slurm-12.out"),
        (TASK, f"{HOME}/slurm-12_3.out"),
        ({"standard_output": "out-%j.txt"}, f"{HOME}/out-12.txt"),
        ({"standard_output": "out-%4j.txt"}, f"{HOME}/out-0012.txt"),
        ({"standard_output": "%A-%a-%j", **TASK}, f"{HOME}/12-3-15"),
        ({"standard_output": "logs/%x-%u.txt", "user_name": "fhabcd"}, f"{HOME}/logs/train-fhabcd.txt"),
        ({"standard_output": "%N.txt", "batch_host": "n1.example"}, f"{HOME}/n1.txt"),
        ({"standard_output": "/tmp/100%%.txt"}, "/tmp/100%.txt"),
        ({"standard_output": "\\%j.txt"}, f"{HOME}/%j.txt"),
        ({"standard_output": "%q.txt"}, f"{HOME}/%q.txt"),
        ({"standard_output": "%j.txt", "paths_expanded": True}, f"{HOME}/%j.txt"),
    ],
)
def test_patterns_are_written_out_as_slurm_does(columns: dict[str, object], path: str) -> None:
    assert output_paths(record(**columns))[0] == path


@pytest.mark.parametrize(
    ("error", "path"), [("", ""), ("slurm-%j.out", ""), ("err-%j.txt", f"{HOME}/err-12.txt")]
)
def test_a_blank_error_path_is_the_same_file(error: str, path: str) -> None:
    assert output_paths(record(standard_error=error))[1] == path
