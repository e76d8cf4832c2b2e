"""From a job's bytes to text that a page can show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.output_reader.text import to_text, whole_part
from tests.cases import case


@case("U21")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain\nlines\n", "plain\nlines\n"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b"\xff\xfebad\n", "\ufffd\ufffdbad\n"),
        ("数据 é 🚀\n".encode(), "数据 é 🚀\n"),
        (b"\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mrgb\x1b[m\n", "red rgb\n"),
        (b"\x1b]0;title\x07after\x1b]8;;http://x\x1b\\link\n", "afterlink\n"),
        (b"\x1b(Bset \x1b7save \x1b[?25lhide\n", "set save hide\n"),
        (b" 10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
        (b" 10%\r 50%\r", " 50%"),
        (b"a\r\r\nb", "a\nb"),
        (b"12\b\b34\b5\n", "35\n"),
        (b"\b\bx", "x"),
        (b"tab\tstays\x00\x07\x0b\n", "tab\tstays\n"),
        (b"<script>alert(1)</script>&amp;\n", "<script>alert(1)</script>&amp;\n"),
        ("turn \u202eround\u2066\n".encode(), "turn round\n"),
        (b"", ""),
    ],
)
def test_readable_text(data: bytes, expected: str) -> None:
    assert to_text(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"rest of a line\nwhole\n", "whole\n"),
        (b"\x9f\x9a\x80 one long line", " one long line"),
        (b"1%\r2%\r3%", "3%"),
    ],
)
def test_a_part_from_inside_begins_with_a_whole_line(data: bytes, expected: str) -> None:
    assert to_text(data, is_cut=True) == expected


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"abc", b"abc"),
        ("é".encode()[:1], b""),
        ("ab🚀".encode()[:-1], b"ab"),
        ("ab🚀".encode(), "ab🚀".encode()),
        (b"ab\x80\x80\x80\x80", b"ab\x80\x80\x80\x80"),
        (b"ab\x1b", b"ab"),
        (b"ab\x1b[1;3", b"ab"),
        (b"ab\x1b[1;31m", b"ab\x1b[1;31m"),
        (b"ab\x1b[1;31mcd", b"ab\x1b[1;31mcd"),
        (b"ab\x1b]0;tit", b"ab"),
        (b"ab\x1b]0;title\x07", b"ab\x1b]0;title\x07"),
        (b"", b""),
    ],
)
def test_what_the_end_cut_in_two_waits_for_the_next_part(data: bytes, kept: bytes) -> None:
    assert whole_part(data) == kept


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])), st.integers(8, 40))
def test_text_that_is_read_in_parts_is_never_damaged(text: str, size: int) -> None:
    data, parts = text.encode(), list[str]()
    while data:
        part = whole_part(data[:size])
        parts.append(part.decode())
        data = data[len(part) :]
    assert "".join(parts) == text


@given(st.binary(max_size=600), st.booleans())
def test_any_bytes_are_shown_without_controls(data: bytes, is_cut: bool) -> None:
    shown = to_text(data, is_cut=is_cut)
    assert all(letter in "\n\t" or ord(letter) >= 32 for letter in shown)
    assert shown.encode().decode() == shown


def test_a_hostile_quarter_mebibyte_is_quick() -> None:
    for data in (b"\x1b[" * 131072, b"\x1b]" * 131072, b"\r" * 262144, b"\b" * 262144, b"\x1b" * 262144):
        assert len(to_text(data)) <= len(data)
        assert len(whole_part(data)) <= len(data)
