"""Job names: all that can be printed is kept as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.names import LONGEST_NAME, parse_line
from jobs.parsing.refusal import Refusal
from tests.cases import case
from tests.jobs.names import ODD_NAMES


@case("U03")
@pytest.mark.parametrize("name", ODD_NAMES)
def test_printable_names_are_kept_unchanged(name: str) -> None:
    assert parse_line(name) == name


@case("U03")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("two\nlines", "line break"),
        ("two\r\nlines", "line break"),
        ("two\u2028lines", "line break"),
        ("bell\x07", "control character"),
        ("tab\there", "control character"),
        ("nul\0", "control character"),
        ("\u202egpj.exe", "control character"),
        ("x" * 256, "At most 255 characters; this has 256"),
        ("x" * 300, "At most 255 characters; this has 300"),
    ],
)
def test_names_that_would_break_a_line_or_a_limit_are_refused(name: str, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        parse_line(name)


@pytest.mark.parametrize("name", ["", "   "])
def test_blank_is_no_name(name: str) -> None:
    assert parse_line(name) is None


@given(st.text(max_size=300))
def test_a_name_that_is_taken_has_no_control_characters_and_fits(name: str) -> None:
    try:
        read = parse_line(name)
    except Refusal:
        return
    assert read is None or (
        len(read) <= LONGEST_NAME
        and len(read.encode()) <= 1024
        and all(unicodedata.category(character) != "Cc" for character in read)
    )


@case("U03")
def test_long_texts_are_bounded_in_bytes_too() -> None:
    assert parse_line("ü" * 400, longest=900) == "ü" * 400
    with pytest.raises(Refusal, match="At most 1000 bytes"):
        parse_line("ü" * 600, longest=900)
