"""Time limits: all of sbatch's forms, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.clients.slurmrest.models import UNLIMITED, Limit
from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import LONGEST, parse_time_limit, show_time_limit


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("", None),
        ("   ", None),
        ("90", 90),
        (" 90 ", 90),
        ("5:00", 5),
        ("0:01", 1),
        ("4:01", 5),  # seconds round up
        ("1:30:00", 90),
        ("1:30:01", 91),
        ("1-12", 36 * 60),
        ("1-12:30", 36 * 60 + 30),
        ("1-12:30:01", 36 * 60 + 31),
        ("0-0:0:59", 1),
        ("UNLIMITED", UNLIMITED),
        ("infinite", UNLIMITED),
        ("0", UNLIMITED),  # as sbatch reads it
    ],
)
def test_every_form_of_sbatch_is_read(text: str, minutes: Limit) -> None:
    assert parse_time_limit(text) == minutes


@pytest.mark.parametrize(
    "text",
    [
        "-5",
        "-1",
        "1.5",
        "1h",
        "1:2:3:4",
        "1-",
        "-",
        "1-2:3:4:5",
        ":",
        "1:",
        "٣",
        "1 2",
        "9999999999",
        "4000-0",
        "a",
    ],
)
def test_what_is_no_time_limit_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_time_limit(text)


@given(st.integers(1, LONGEST))
def test_what_is_shown_is_read_again(minutes: int) -> None:
    assert parse_time_limit(show_time_limit(minutes)) == minutes


@given(st.integers(0, 999), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_seconds_never_shorten_a_limit(days: int, hours: int, minutes: int, seconds: int) -> None:
    read = parse_time_limit(f"{days}-{hours}:{minutes}:{seconds}")
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert read == UNLIMITED if total == 0 else isinstance(read, int) and 0 <= read * 60 - total < 60


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse_time_limit(text)
    except Refusal:
        return
    assert read is None or read is UNLIMITED or (isinstance(read, int) and 1 <= read <= LONGEST)
