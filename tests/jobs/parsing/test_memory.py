"""Memory: exact MiB or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.memory import MOST, parse_memory, show_memory
from jobs.parsing.refusal import Refusal
from tests.cases import case


@case("U06")
@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("", None),
        ("0", 0),
        ("512", 512),
        ("16G", 16384),
        ("16GB", 16384),
        ("16 GiB", 16384),
        ("16g", 16384),
        ("1T", 1048576),
        ("1.5T", 1572864),
        ("0.5G", 512),
        ("2048K", 2),
        ("512M", 512),
    ],
)
def test_amounts_become_exact_mebibytes(text: str, mebibytes: int | None) -> None:
    assert parse_memory(text) == mebibytes


@case("U06")
@pytest.mark.parametrize(
    "text", ["-1", "-1G", "1.3G", "1K", "16X", "G", "512B", "1e3", "1,5T", "١٦", "2P", "16 G B"]
)
def test_what_is_not_exact_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_memory(text)


@case("U06")
def test_zero_is_shown_as_all_of_the_node() -> None:
    assert show_memory(0) == "all of the node"
    assert show_memory(None) == ""


@given(st.integers(0, MOST))
def test_a_plain_number_is_mebibytes(number: int) -> None:
    assert parse_memory(str(number)) == number


@given(st.integers(1, MOST))
def test_what_is_shown_is_read_again(number: int) -> None:
    assert parse_memory(show_memory(number)) == number


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse_memory(text)
    except Refusal:
        return
    assert read is None or 0 <= read <= MOST
