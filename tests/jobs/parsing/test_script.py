"""Scripts: what the sbatch client checks and slurmrestd does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.refusal import Refusal
from jobs.parsing.script import LARGEST, parse_script, parse_upload
from tests.cases import case


@case("U01")
def test_windows_line_ends_become_unix_ones_and_the_form_says_so() -> None:
    read = parse_upload(b"#!/bin/bash\r\necho one\r\necho two")
    assert read.text == "#!/bin/bash\necho one\necho two"
    assert read.notes == ("Windows line ends (CR LF) became LF.",)


@case("U01")
def test_a_browser_sends_cr_lf_for_every_line_which_is_no_news() -> None:
    read = parse_script("#!/bin/bash\r\necho one\r\n", typed=True)
    assert (read.text, read.notes) == ("#!/bin/bash\necho one\n", ())


def test_a_byte_order_mark_is_taken_off() -> None:
    read = parse_upload("\ufeff#!/bin/bash\necho é 🚀\n".encode())
    assert read.text == "#!/bin/bash\necho é 🚀\n"
    assert len(read.notes) == 1


@case("U01")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("  \r\n\t\n ", "empty"),
        ("echo hello\n", "first line"),
        ("\n#!/bin/bash\n", "Remove the empty lines"),
        ("#!\necho\n", "full path"),
        ("#!bash\necho\n", "full path"),
        ("#!/bin/bash\necho \0\n", "NUL"),
        ("#!/bin/bash\n" + "x" * LARGEST, "1 MiB"),
    ],
)
def test_scripts_that_could_never_run_are_refused(text: str, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        parse_script(text)


def test_a_script_of_exactly_one_mebibyte_is_taken() -> None:
    text = "#!/bin/sh\n".ljust(LARGEST, "#")
    assert parse_script(text).text == text
    assert parse_upload(text.encode()).text == text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe#\0!\0", "UTF-16"),
        (b"#!/bin/bash\n\xe9\n", "line 2"),
        (b"\x7fELF\xff\x00", "not UTF-8"),
        (b"#" * (LARGEST + 1), "1 MiB"),
    ],
)
def test_uploads_that_are_no_text_are_refused(content: bytes, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        parse_upload(content)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_script_that_is_taken_holds_a_carriage_return(text: str) -> None:
    try:
        read = parse_script("#!/bin/sh\r" + text)
    except Refusal:
        assert "\0" in text
        return
    assert "\r" not in read.text
    assert read.text.startswith("#!/bin/sh\n")
