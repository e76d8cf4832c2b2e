"""One merged request: the form beats the script, sbatch's rules are followed, and what it can use is told."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.clients.slurmrest.dialects import dialect_for
from clusters.clients.slurmrest.dialects.submit import check_submit
from clusters.clients.slurmrest.models import GpuRequest, SubmitRequest
from jobs.parsing.options import OPTIONS
from jobs.parsing.options.page import VERSIONS
from jobs.services.amounts import Amounts, amounts_of
from jobs.services.capacity import ClusterView, PartitionView
from jobs.services.describe import of_draft, of_request
from jobs.services.drafts import Draft, DraftRefused, Typed, read_draft
from jobs.services.requests import assemble, to_json
from tests.cases import case

HOME = "/home/fhada"
TRAIN = PartitionView(
    name="train",
    is_default=True,
    is_open=True,
    total_nodes=4,
    max_nodes=None,
    total_cpus=64,
    max_time=1440,
    default_time=60,
    node_cpus=16,
    node_memory=65536,
    node_gpus=4,
    gpus=16,
    gpu_models=("a100",),
    price_per_hour=Decimal("8.00"),
)
SMALL = PartitionView(
    name="small",
    is_default=False,
    is_open=True,
    total_nodes=1,
    max_nodes=None,
    total_cpus=4,
    max_time=None,
    default_time=None,
)


def view(api: str = "v0.0.42", release: str = "24.11.5") -> ClusterView:
    return ClusterView((TRAIN, SMALL), 1001, api=api, release=release)


def draft(*lines: str, api: str = "v0.0.42", release: str = "24.11.5", **fields: str) -> Draft:
    script = "".join(f"#SBATCH {line}\n" for line in lines)
    return read_draft(Typed(fields=fields, script=f"#!/bin/bash\n{script}echo\n"), view(api, release))


def request(*lines: str, **fields: str) -> SubmitRequest:
    return assemble(draft(*lines, **fields), account="fhada", home=HOME, mark="abcdefghijkl")[0]


def refused(*lines: str, api: str = "v0.0.42", release: str = "24.11.5", **fields: str) -> dict[str, str]:
    with pytest.raises(DraftRefused) as caught:
        draft(*lines, api=api, release=release, **fields)
    return dict(caught.value.fields)


def test_a_field_takes_the_place_of_all_that_the_script_says_of_the_same_thing() -> None:
    made = draft("--nodes=2-4 --gres=gpu:2,shard:3 --gpus-per-node=1", nodes="3", gpus="a100:4")
    assert made.values["nodes"] == 3
    assert made.values["gpus"] == GpuRequest(count=4, model="a100")
    assert made.values["gres"] == "shard:3"
    assert {"max_nodes", "gpus_per_node"} & set(made.values) == set()
    assert (made.origins["nodes"], made.origins["gres"]) == ("form", "line 2")


def test_options_without_a_field_are_shown_with_their_line_and_what_follows_from_them() -> None:
    made = draft("--constraint='fast&amd' --signal=USR1@60", "--ntasks=4 --cpus-per-task=2", "--requeue")
    lines = {str(line.label): (line.value, line.source) for line in of_draft(made, view())}
    assert lines["Features"] == ("fast&amd", "line 2")
    assert lines["Signal before the end"] == ("USR1@60", "line 2")
    assert lines["Started again after a failure"] == ("yes", "line 4")
    assert lines["CPUs at least"] == ("8", "as sbatch does")
    assert lines["Resources per task"] == ("cpu=2", "as sbatch does")


def test_what_was_sent_is_shown_again_from_what_was_kept() -> None:
    sent, origins = assemble(
        draft("--mail-type=END --begin=2027-01-31T18:30:00", "hetjob", "-n2"),
        account="a",
        home=HOME,
        mark="m" * 12,
    )
    lines = {str(line.label): line.value for line in of_request(to_json(sent), origins)}
    assert lines["Mail at"] == "END"
    assert lines["Not before"] == "2027-01-31 18:30:00 UTC"
    assert lines["Component 2: Tasks"] == "2"


def test_what_was_kept_makes_the_same_request_again() -> None:
    lines = (
        "--mem=0 --time=60 --time-min=UNLIMITED --no-requeue --mail-type=END",
        "hetjob",
        "--exclusive --switches=1@5:00",
    )
    sent = request(*lines, gpus="a100:1")
    kept = {name: value for name, value in to_json(sent).items() if name != "environment"}
    kept |= {"script": sent.script, "environment": sent.environment, "comment": sent.comment}
    assert msgspec.convert(kept, SubmitRequest) == sent


def test_no_requeue_survives_being_kept() -> None:
    assert to_json(request("--no-requeue"))["requeue"] is False
    assert "requeue" not in to_json(request())


def test_components_are_sent_together_and_what_is_typed_holds_for_each() -> None:
    sent = request(
        "-N2 --job-name=big -o out.txt -D runs", "hetjob", "-N1 -c2 --chdir=/scratch", time_limit_minutes="30"
    )
    (other,) = sent.components
    assert (sent.nodes, other.nodes, other.cpus_per_task) == (2, 1, 2)
    assert (sent.time_limit_minutes, other.time_limit_minutes) == (30, 30)
    assert (sent.working_directory, other.working_directory) == (f"{HOME}/runs", "/scratch")
    assert (sent.stdout, other.stdout) == ("out.txt", f"{HOME}/runs/out.txt")
    assert sent.environment["SLURM_CPUS_PER_TASK_HET_GROUP_1"] == "2"
    assert "array" in refused("-a 1-4", "hetjob", "-N1")
    assert refused("-N1", "hetjob", "-N9")["1.nodes"].startswith("Component 2: Partition train has 4 nodes")


@case("U07")
def test_export_chooses_from_the_small_environment_and_from_what_is_typed() -> None:
    base = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG"}
    assert base <= set(request().environment)
    listed = request("--export=HOME,A=b=c").environment
    assert (listed["A"], listed["HOME"], listed["SLURM_GET_USER_ENV"]) == ("b=c", HOME, "1")
    assert listed["SLURM_EXPORT_ENV"] == "HOME,A=b=c"
    assert base & set(listed) == {"HOME"}
    nothing = request("--export=NONE").environment
    assert base & set(nothing) == set()
    assert nothing["SLURM_SUBMIT_DIR"] == HOME


def test_a_command_becomes_the_script_that_sbatch_makes_of_it() -> None:
    made = read_draft(Typed(wrap="python train.py"), view())
    assert made.script.startswith("#!/bin/sh\n")
    assert made.script.endswith("\npython train.py\n")
    assert made.values["name"] == "wrap"


@pytest.mark.parametrize(
    ("lines", "field", "told"),
    [
        ("--mem=1G --mem-per-cpu=1G", "memory_mib", "cannot both be set"),
        ("--mem=1G --mem-per-gpu=1G --gpus=1", "memory_mib", "cannot be set together"),
        ("--deadline=now+1hour --begin=now+2hours", "deadline", "before the begin"),
        ("--core-spec=1 --thread-spec=1", "core_spec", "cannot both be set"),
        ("--gpus-per-task=1", "gpus_per_task", "how many tasks"),
        ("--ntasks=2 --tres-per-task=cpu=2 --cpus-per-task=2", "cpus_per_task", "said twice"),
        ("--partition=train,gone", "partition", "no partition gone here"),
        ("--gpus=a100:20", "gpus_per_job", "has 16 GPUs in all"),
        ("--gres=gpu:h100:1", "gres", "has no h100, but a100"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(lines: str, field: str, told: str) -> None:
    message = refused(lines)[field]
    assert told in message
    assert "line 2" in message


def test_names_are_checked_against_what_was_last_seen() -> None:
    seen = dataclasses.replace(
        view(),
        node_names=frozenset({"n1", "n2"}),
        reservations=frozenset({"school"}),
        licenses={"matlab": 4},
    )

    def read(line: str) -> Draft:
        return read_draft(Typed(script=f"#!/bin/bash\n#SBATCH {line}\n"), seen)

    with pytest.raises(DraftRefused) as caught:
        read("--nodelist=n[1-3] --exclude=m1")
    assert caught.value.fields["nodelist"].startswith("There is no node n3 here.")
    assert caught.value.fields["exclude"].startswith("There is no node m1 here.")
    assert read("--nodelist=n[1-2] --reservation=school -L matlab:4").notes == ()
    told = [str(note) for note in read("--reservation=school,course -L matlab:5,fluent").notes]
    assert told == [
        "No reservation course was there when the cluster was last looked at.",
        "There were 4 licences matlab when the cluster was last looked at.",
        "There were 0 licences fluent when the cluster was last looked at.",
    ]
    assert draft("--nodelist=n9 --reservation=course -L matlab:5").notes == ()


def test_of_several_partitions_one_that_fits_is_enough() -> None:
    assert draft("--partition=small,train --gpus=2").values["partition"] == "small,train"
    assert "gpus_per_job" in refused("--partition=small --gpus=2")


def test_a_default_partition_that_is_not_told_may_be_any() -> None:
    told = dataclasses.replace(TRAIN, is_default=False)
    unknown = ClusterView((told, SMALL), 1001, api="v0.0.42", release="24.11.5")
    made = read_draft(Typed(script="#!/bin/bash\n#SBATCH --gpus=2\n"), unknown)
    assert "partition" not in made.values
    assert "Partition" not in {str(line.label) for line in of_draft(made, unknown)}
    assert amounts_of(made, unknown) == Amounts()
    with pytest.raises(DraftRefused) as caught:
        read_draft(Typed(script="#!/bin/bash\n#SBATCH --gpus=17\n"), unknown)
    assert "gpus_per_job" in caught.value.fields


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("--gpus=2 --time=2:00:00", Amounts(4.0, Decimal("8.00"))),
        ("--gpus-per-node=4 --nodes=2 --time=60 --array=0-9", Amounts(80.0, Decimal("160.00"))),
        ("--ntasks=4 --gpus-per-task=1 --time=30", Amounts(2.0, Decimal("4.00"))),
        ("--cpus-per-task=4", Amounts(None, Decimal("2.00"))),
        ("--exclusive --nodes=2", Amounts(None, Decimal("16.00"))),
        ("--partition=small", Amounts(None, None)),
    ],
)
def test_what_a_request_can_use_is_told_before_it_is_sent(lines: str, expected: Amounts) -> None:
    assert amounts_of(draft(lines), view()) == expected


_WORDS = st.sampled_from([option.written for option in OPTIONS] + [f"--{option.name}" for option in OPTIONS])
_VALUES = st.one_of(
    st.text(alphabet="0123456789:,-=@*+/[]()kKmMgG%.abcdefgpuABR ", max_size=14),
    st.text(max_size=8),
    st.sampled_from(
        ["0", "1", "4294967296", "99999999999999999999", "1-2", "a100:2", "ALL", "NONE", "UNLIMITED"]
    ),
)
_LINES = st.lists(
    st.one_of(
        _WORDS, st.tuples(st.sampled_from(OPTIONS), _VALUES).map(lambda pair: f"--{pair[0].name}={pair[1]}")
    ),
    max_size=6,
)


@pytest.mark.parametrize("version", VERSIONS)
@given(lines=_LINES, second=_LINES)
@settings(max_examples=60)
def test_any_lines_make_a_request_that_may_be_sent_or_are_refused(
    version: str, lines: list[str], second: list[str]
) -> None:
    more = ["hetjob", *second] if second else []
    try:
        made = draft(*lines, *more, api=version, release="")
    except DraftRefused as error:
        assert error.fields
        return
    sent, _origins = assemble(made, account="fhada", home=HOME, mark="abcdefghijkl")
    check_submit(sent, version)
    body = msgspec.json.encode(dialect_for(version).encode_submit(sent))
    assert b'"argv"' not in body
    assert version != "v0.0.38" or b'"batch_features"' not in body
    assert of_draft(made, view())
