"""The queue's lines: no character that a name may hold ends a field."""

from __future__ import annotations

import pytest

from clusters.clients.slurm_console.console import Unreadable, check_job, error_of
from clusters.clients.slurm_console.lines import FORMAT, new_mark, parse, read
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import UNLIMITED, Limit
from tests.cases import case
from tests.jobs.names import ODD_NAMES

PLAIN = (
    *("7", "7", "RUNNING", "fhalice", "train", "(null)", "(null)", "1796070706", "1796070709", "1796071309"),
    *("10:00", "1", "4", "gres:gpu:a100:2", "n1", "None", "name", "(null)"),
)


def printed(mark: str, *records: tuple[str, ...]) -> bytes:
    return "".join(f"{mark}{mark.join(record)}{mark}\n" for record in records).encode()


def test_a_line_is_read() -> None:
    mark = new_mark()
    (fields,) = read([printed(mark, PLAIN)], mark)
    line = parse(fields)
    assert (line.job_id, line.state, line.user_name, line.account, line.reason) == (
        7,
        "RUNNING",
        "fhalice",
        "",
        "",
    )
    assert (line.submit_time, line.start_time, line.time_limit, line.node_count) == (
        1796070706,
        1796070709,
        10,
        1,
    )
    assert (line.name, line.comment, line.gres) == ("name", "", "gres:gpu:a100:2")


@case("U03")
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_names_may_hold_anything_but_the_mark(size: int) -> None:
    mark, other = new_mark(), new_mark()
    names = [*ODD_NAMES, "two\nlines", f"{other}9{other}", "tab\there", "~~", "\u2028", "%j|%i", ""]
    body = printed(mark, *((*PLAIN[:16], name, f"of {name}") for name in names))
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    lines = [parse(fields) for fields in read(parts, mark)]
    assert [(line.name, line.comment) for line in lines] == [(name, f"of {name}") for name in names]


@case("U12")
@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("12", (None, None, "", None, None)),
        ("500_7", (500, 7, "", None, None)),
        ("500_[8-10%2]", (500, None, "8-10%2", None, None)),
        ("900+1", (None, None, "", 900, 1)),
    ],
)
def test_arrays_and_sets_are_told_by_the_shown_id(shown: str, found: tuple[object, ...]) -> None:
    line = parse((PLAIN[0], shown, *PLAIN[2:]))
    assert found == (
        line.array_job_id,
        line.array_task_id,
        line.array_task_string,
        line.het_job_id,
        line.het_job_offset,
    )


@case("U13")
@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *(("10:00", 10), ("1:30:00", 90), ("2-00:00:00", 2880), ("0:30", 1), ("UNLIMITED", UNLIMITED)),
        *(("INVALID", None), ("NOT_SET", None), ("", None), ("a:b", None)),
    ],
)
def test_time_limits(text: str, minutes: Limit) -> None:
    assert parse((*PLAIN[:10], text, *PLAIN[11:])).time_limit == minutes


@pytest.mark.parametrize("cut", [-1, -20, -300])
def test_half_an_output_is_no_output(cut: int) -> None:
    mark = new_mark()
    body = printed(mark, *[PLAIN] * 3)
    assert len(list(read([body], mark))) == 3
    kept = body[:cut] if cut != -1 else body[:-2]
    with pytest.raises(errors.BadAnswer):
        list(read([kept], mark))


@pytest.mark.parametrize("body", ["slurm_load_jobs error: no", "~x~" * 40, f"{'a' * 2**21}"])
def test_what_is_no_queue_is_refused(body: str) -> None:
    with pytest.raises(errors.BadAnswer):
        list(read([body.encode()], new_mark()))
    assert list(read([b""], new_mark())) == []


def test_marks_are_new_for_each_call_and_the_format_asks_for_no_more_than_is_read() -> None:
    assert new_mark() != new_mark()
    assert len(FORMAT) == len(PLAIN)


@pytest.mark.parametrize("job", ["12", "12_3", "12+1"])
def test_one_job_is_named(job: str) -> None:
    assert check_job(job) == job


@pytest.mark.parametrize(
    "job", ["", "-12", "12;id", "12_[1-3]", "12_", "$(id)", "12 13", "all", "--help", "12\n", "١٢", "12,13"]
)
def test_nothing_else_reaches_a_command(job: str) -> None:
    with pytest.raises(ValueError, match="named by its number"):
        check_job(job)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Invalid job id specified for job 99\n", errors.UnknownJob),
        ("Access/permission denied for job 1\n", errors.NotPermitted),
        (
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
            errors.NotReachable,
        ),
        ("Unexpected message received for job 1\n", errors.Unclear),
        ("scontrol: error: Protocol authentication error\n", errors.TokenRefused),
        ("Job is pending execution for job 3\n", errors.SlurmRefused),
        (
            "scontrol: error: RESPONSE_SLURM_RC has authentication error: Resource\nUnspecified error\n",
            Unreadable,
        ),
    ],
)
def test_slurms_words_become_our_errors(words: str, kind: type[Exception]) -> None:
    assert type(error_of(words)) is kind
