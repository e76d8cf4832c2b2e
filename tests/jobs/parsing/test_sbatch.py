"""#SBATCH lines: read as sbatch would, or named with their line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.slurmrest.models import UNLIMITED, GpuRequest
from jobs.parsing.sbatch import read_directives

HEAD = "#!/bin/bash\n"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--job-name=train", "name", "train"),
        ("-J 'two words'", "name", "two words"),
        ('--job-name="a # b"', "name", "a # b"),
        ("-p gpu", "partition", "gpu"),
        ("-pgpu", "partition", "gpu"),
        ("--partition gpu  # the fast one", "partition", "gpu"),
        ("--nodes=2", "nodes", 2),
        ("-N 2", "nodes", 2),
        ("--ntasks=8", "tasks", 8),
        ("-n8", "tasks", 8),
        ("-c 4", "cpus_per_task", 4),
        ("--gpus=a100:4", "gpus", GpuRequest(count=4, model="a100", per="job")),
        ("-G 2", "gpus", GpuRequest(count=2, per="job")),
        ("--gpus-per-node=2", "gpus", GpuRequest(count=2)),
        ("--gres=gpu:a100:2", "gpus", GpuRequest(count=2, model="a100")),
        ("--gres=gpu:2", "gpus", GpuRequest(count=2)),
        ("--gres=gpu", "gpus", GpuRequest(count=1)),
        ("--gres=gpu:h100", "gpus", GpuRequest(count=1, model="h100")),
        ("--mem=16G", "memory_mib", 16384),
        ("--mem=0", "memory_mib", 0),
        ("-t 1-12", "time_limit_minutes", 2160),
        ("--time=UNLIMITED", "time_limit_minutes", UNLIMITED),
        ("-o out-%j.txt", "stdout", "out-%j.txt"),
        ("--error=err.txt", "stderr", "err.txt"),
        ("--array=0-15:4", "array", "0-15:4"),
    ],
)
def test_common_options_become_fields(line: str, field: str, value: object) -> None:
    read = read_directives(f"{HEAD}#SBATCH {line}\necho\n")
    assert read.problems == []
    assert {name: found.value for name, found in read.values.items()} == {field: value}
    assert read.values[field].line == 2


def test_several_options_on_a_line_and_the_last_one_wins() -> None:
    read = read_directives(f"{HEAD}#SBATCH -N 1 -n 4\n\n# a comment\n#SBATCH -N 2\n")
    assert {name: (found.value, found.line) for name, found in read.values.items()} == {
        "nodes": (2, 5),
        "tasks": (4, 2),
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--foo", "Line 2: --foo is not handled here yet; remove it or set it in the form."),
        ("-x node1", "Line 2: -x is not handled here yet"),
        ("--exclusive", "Line 2: --exclusive is not handled"),
        ("--nodes", "Line 2: --nodes has no value."),
        ("--nodes=", "Line 2: --nodes has no value."),
        ("--nodes --ntasks=2", "Line 2: --nodes has no value."),
        ("--nodes=2-4", "Line 2: --nodes: Write a whole number"),
        ("--time=soon", "Line 2: --time: This is not a time limit."),
        ("--mem=-1", "Line 2: --mem: Memory cannot be negative."),
        ("--array=%2", "Line 2: --array: The tasks before %"),
        ("--gres=shard:2", "Line 2: --gres: only gpu is handled"),
        ("--job-name='open", "Line 2: a quote is not closed."),
        ("train", 'Line 2: "train" is not an option.'),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(line: str, told: str) -> None:
    read = read_directives(f"{HEAD}#SBATCH {line}\n")
    assert [str(problem)[: len(told)] for problem in read.problems] == [told]


def test_lines_below_the_first_command_are_ignored_and_noted() -> None:
    read = read_directives(f"{HEAD}##SBATCH -N 9\n  # plain\necho start\n#SBATCH -N 2\n")
    assert (read.values, read.problems) == ({}, [])
    assert [note.line for note in read.notes] == [5]


@given(st.text(max_size=80))
def test_any_line_is_read_or_named(text: str) -> None:
    read = read_directives(f"{HEAD}#SBATCH {text}\n")
    assert all(problem.line >= 2 and problem.message for problem in read.problems)
