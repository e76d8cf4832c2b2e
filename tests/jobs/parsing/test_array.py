"""Job arrays: counted before Slurm reads them in its own lenient way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.array import count_tasks, parse_array
from jobs.parsing.refusal import Refusal
from tests.cases import case


@case("U04")
@pytest.mark.parametrize(
    ("text", "count", "at_once", "preview"),
    [
        ("1-10%2", 10, 2, "10 tasks (1, 2, 3, 4, 5, 6, 7, 8 ...), 2 at a time"),
        ("0-15:4", 4, None, "4 tasks (0, 4, 8, 12)"),
        ("1,3,5-7", 5, None, "5 tasks (1, 3, 5, 6, 7)"),
        ("1, 3", 2, None, "2 tasks (1, 3)"),
        ("4", 1, None, "1 task (4)"),
        ("1-3,2-4", 4, None, "4 tasks (1, 2, 3, 4)"),
        ("1000", 1, None, "1 task (1000)"),
    ],
)
def test_good_arrays_are_counted(text: str, count: int, at_once: int | None, preview: str) -> None:
    array = parse_array(text, max_size=1001)
    assert array is not None
    assert (array.count, array.at_once, array.preview) == (count, at_once, preview)


@case("U04")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5-1", "backwards"),
        ("-3", "not a task"),
        ("1--3", "not a task"),
        ("1-1001", "largest task number here is 1,000"),
        ("%2", "before % are missing"),
        ("1-10%abc", "number from 1 up"),
        ("1-10%0", "number from 1 up"),
        ("1-10%", "number from 1 up"),
        ("1-10:0", "step"),
        ("1,,2", "not a task"),
        ("1 3", "not a task"),
        ("1-10%2%3", "number from 1 up"),
        (",".join(["1"] * 1001), "At most 1000"),
    ],
)
def test_bad_arrays_are_refused(text: str, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        parse_array(text, max_size=1001)


def test_an_absurd_array_costs_no_time() -> None:
    with pytest.raises(Refusal, match="more tasks"):
        parse_array(",".join(["0-4000000"] * 90))


@pytest.mark.parametrize(
    ("text", "count"), [("8-10%2", 3), ("3-8%2", 6), ("1,3-5,...", 4), ("7", 1), ("0-15:4", 4), ("", 1)]
)
@case("U12")
def test_a_folded_record_counts_as_its_tasks(text: str, count: int) -> None:
    assert count_tasks(text) == count


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(1, 9)), min_size=1, max_size=20)
)
def test_the_count_is_the_size_of_the_set(spans: list[tuple[int, int, int]]) -> None:
    text = ",".join(f"{first}-{first + more}:{step}" for first, more, step in spans)
    expected = {i for first, more, step in spans for i in range(first, first + more + 1, step)}
    array = parse_array(text, max_size=1001)
    assert array is not None
    assert array.count == len(expected)
    assert array.first == tuple(sorted(expected)[:8])
