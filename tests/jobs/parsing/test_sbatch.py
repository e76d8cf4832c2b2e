"""#SBATCH lines: read as sbatch would, or named with their line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.slurmrest.models import UNLIMITED
from jobs.parsing.options import Target
from jobs.parsing.sbatch import Directives, read_directives

HEAD = "#!/bin/bash\n"
OLD, NEW = Target("v0.0.38", (22, 5)), Target("v0.0.42", (24, 11))


def values_of(read: Directives) -> dict[str, object]:
    return {name: found.value for name, found in read.values.items() if found.value is not None}


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
        ("--gpus=a100:4", "gpus_per_job", "a100:4"),
        ("-G 2", "gpus_per_job", "2"),
        ("--gpus-per-node=2", "gpus_per_node", "2"),
        ("--gpus-per-task=a100:1,h100:1", "gpus_per_task", "a100:1,h100:1"),
        ("--gres=gpu:a100:2", "gres", "gpu:a100:2"),
        ("--gres=gpu:2,shard:4K", "gres", "gpu:2,shard:4K"),
        ("--gres=gpu", "gres", "gpu"),
        ("--mem=16G", "memory_mib", 16384),
        ("--mem=0", "memory_mib", 0),
        ("-t 1-12", "time_limit_minutes", 2160),
        ("--time=UNLIMITED", "time_limit_minutes", UNLIMITED),
        ("-o out-%j.txt", "stdout", "out-%j.txt"),
        ("--error=err.txt", "stderr", "err.txt"),
        ("--array=0-15:4", "array", "0-15:4"),
        ("--part=gpu", "partition", "gpu"),
        ("--partition=gpu,debug", "partition", "gpu,debug"),
        ("--cpus-per-t 2", "cpus_per_task", 2),
        ("-H", "hold", True),
        ("--exclusive", "sharing", "exclusive"),
        ("--exclusive=user", "sharing", "user"),
        ("--no-requeue", "requeue", False),
        ("--mem=1500K", "memory_mib", 2),
        ("--mail-type=FAIL,END", "mail_types", ("END", "FAIL")),
        ("--delay-boot=10", "delay_boot", 600),
        ("--nice", "nice", 100),
        ("-xn1,n[3-5]", "exclude", "n1,n[3-5]"),
        ("-o none", "stdout", "/dev/null"),
        ("--gpus=a100", "gpus_per_job", "a100"),
        ("--gpus=1g.10gb:1", "gpus_per_job", "1g.10gb:1"),
        ("--gres=gpu:1g.10gb:2", "gres", "gpu:1g.10gb:2"),
        ("--gres=gpu:2080ti:1", "gres", "gpu:2080ti:1"),
        ("--gres=gres/gpu:1,gres/shard:2", "gres", "gpu:1,shard:2"),
        ("--array=[0-3]%2", "array", "0-3%2"),
        ("--array=[0-3%2]", "array", "0-3%2"),
        ("--dependency=AfterOK:1:2", "dependency", "AfterOK:1:2"),
        ("--dependency=12", "dependency", "12"),
        ("--open-mode=APPEND", "open_mode", "append"),
        ("--get-user-env=10L", "get_user_env", True),
        ("--acctg-freq=Task=30,energy=60", "accounting_frequency", "Task=30,energy=60"),
        ("-H \\", "hold", True),
    ],
)
def test_common_options_become_fields(line: str, field: str, value: object) -> None:
    read = read_directives(f"{HEAD}#SBATCH {line}\necho\n")
    assert read.problems == []
    assert values_of(read) == {field: value}
    assert read.values[field].line == 2


def test_several_options_on_a_line_and_the_last_one_wins() -> None:
    read = read_directives(f"{HEAD}#SBATCH -N 1 -n 4\n\n# a comment\n#SBATCH -N 2\n")
    assert values_of(read) == {"nodes": 2, "tasks": 4}
    assert (read.values["nodes"].line, read.values["tasks"].line) == (5, 2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--foo", "Line 2: sbatch has no option --foo."),
        ("-y node1", "Line 2: sbatch has no option -y."),
        ("--exp=ALL", "Line 2: --exp may mean several options: --export, --export-file."),
        ("--hold=1", "Line 2: --hold takes no value."),
        ("--nodes", "Line 2: --nodes has no value."),
        ("--nodes=", "Line 2: --nodes: there is no value."),
        ("--nodes --ntasks=2", "Line 2: --nodes: Write a number of nodes"),
        ("--nodes=4-2", "Line 2: --nodes: Write a number of nodes"),
        ("--time=soon", "Line 2: --time: This is not a time limit."),
        ("--mem=-1", "Line 2: --mem: Write a whole amount"),
        ("--mem=1.5G", "Line 2: --mem: Write a whole amount"),
        ("--array=%2", "Line 2: --array: The tasks before %"),
        ("--mail-type=SOON", "Line 2: --mail-type: SOON is no event."),
        ("--clusters=other", "Line 2: --clusters: A cluster is chosen by its page"),
        ("--uid=root", "Line 2: --uid: Jobs run as your own account"),
        ("--nodefile=names", "Line 2: --nodefile: It names a file"),
        ("-w ./names", "Line 2: --nodelist: A file of node names"),
        ("--job-name='open", "Line 2: a quote is not closed."),
        ('--comment "" -N 2', "Line 2: sbatch stops reading a line at an empty text in quotes."),
        ("hetjob -N 2", "Line 2: sbatch ignores what stands behind hetjob."),
        ("--acctg-freq=speed=1", "Line 2: --acctg-freq: Write for example task=30"),
        ("--tres-per-task=cpu=2,mem=100", "Line 2: --tres-per-task: Write for example cpu=2"),
        ("--get-user-env=x", "Line 2: --get-user-env: Write for example 60L"),
        ("--begin=2031-1-20", "Line 2: --begin: This is not a moment."),
        ("--partition=a\x01b", "Line 2: --partition: Write for example debug,gpu."),
        ("train", 'Line 2: "train" is not an option.'),
        ("-N 2 -- train", 'Line 2: "train" is not an option.'),
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


def test_a_value_may_stand_on_the_next_line_and_words_without_a_space_count() -> None:
    read = read_directives(f"{HEAD}#SBATCH --nodes\n#SBATCH 2\n#SBATCH--ntasks=4\n")
    assert (values_of(read), read.problems) == ({"nodes": 2, "tasks": 4}, [])


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (r"-J a\"b", 'a"b'),
        ("""-J "it's" """, "it's"),
        ("-J a#b", "a"),
        (r"-J a\#b", "a#b"),
        ("-J 'a'\"b\"", "ab"),
    ],
)
def test_quotes_and_backslashes_are_read_as_the_client_reads_them(line: str, name: str) -> None:
    assert values_of(read_directives(f"{HEAD}#SBATCH {line}\n")) == {"name": name}


def test_a_blank_behind_a_backslash_ends_a_word_in_old_slurm_only() -> None:
    script = f"{HEAD}#SBATCH -J a\\ b\n"
    assert values_of(read_directives(script, NEW)) == {"name": "a b"}
    assert [str(problem) for problem in read_directives(script, OLD).problems] == [
        'Line 2: "b" is not an option. Options begin with - or --.'
    ]


def test_components_have_values_of_their_own_and_keep_what_holds_for_the_whole_job() -> None:
    read = read_directives(
        f"{HEAD}#SBATCH -N2 -t 30\n#SBATCH hetjob\n#SBATCH -N1 --mem=1G\n#SBATCH PACKJOB\n"
    )
    assert values_of(read) == {"nodes": 2, "time_limit_minutes": 30}
    assert [
        {name: one.value for name, one in part.items() if one.value is not None} for part in read.more
    ] == [
        {"time_limit_minutes": 30, "nodes": 1, "memory_mib": 1024},
        {"time_limit_minutes": 30, "memory_mib": 1024},
    ]


def test_what_an_api_cannot_carry_is_refused_and_never_dropped() -> None:
    script = f"{HEAD}#SBATCH --signal=B:USR1@60\n#SBATCH --contiguous\n"
    assert values_of(read_directives(script, NEW)) == {
        "warning": "USR1@60",
        "warning_batch": True,
        "contiguous": True,
    }
    assert [str(problem) for problem in read_directives(script, OLD).problems] == [
        "Line 2: --signal: the API v0.0.38 of this cluster cannot carry it. Remove it.",
        "Line 3: --contiguous: the API v0.0.38 of this cluster cannot carry it. Remove it.",
    ]


def test_an_option_of_another_release_is_named_as_such() -> None:
    read = read_directives(f"{HEAD}#SBATCH --stepmgr\n", OLD)
    assert [str(problem) for problem in read.problems] == [
        "Line 2: Slurm 22.05 of this cluster has no option --stepmgr."
    ]
    assert values_of(read_directives(f"{HEAD}#SBATCH --stepmgr\n", NEW)) == {"step_manager": True}


def test_events_of_mail_add_up_in_old_slurm_and_replace_each_other_in_new() -> None:
    script = f"{HEAD}#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n"
    assert values_of(read_directives(script, OLD)) == {"mail_types": ("END", "FAIL")}
    assert values_of(read_directives(script, Target("v0.0.45", (26, 5)))) == {"mail_types": ("FAIL",)}


def test_what_concerns_a_terminal_is_noted_and_has_no_effect() -> None:
    read = read_directives(f"{HEAD}#SBATCH --wait -Q\n#SLURM -N 2\n")
    assert (values_of(read), read.problems) == ({"nodes": 2}, [])
    assert [(note.line, str(note.message)[:8]) for note in read.notes] == [
        (3, "#SLURM i"),
        (2, "--wait: "),
        (2, "--quiet:"),
    ]


def test_lines_of_other_schedulers_are_named() -> None:
    read = read_directives(f"{HEAD}#PBS -l nodes=2\n")
    assert [str(problem) for problem in read.problems] == [
        "Line 2: #PBS lines are not read here. Write them as #SBATCH."
    ]
