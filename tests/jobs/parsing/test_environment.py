"""Environments: whole values, valid names, nothing of the portal's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.environment import parse_environment, safe_environment
from jobs.parsing.refusal import Refusal
from tests.cases import case


@case("U07")
@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("\n \n", {}),
        ("A=b=c", {"A": "b=c"}),
        ("GREET=héllo", {"GREET": "héllo"}),
        ("EMPTY=", {"EMPTY": ""}),
        ("A= two  spaces ", {"A": " two  spaces "}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("LD_PRELOAD=/home/me/lib.so", {"LD_PRELOAD": "/home/me/lib.so"}),
    ],
)
def test_values_arrive_whole(text: str, variables: dict[str, str]) -> None:
    assert parse_environment(text) == variables


@case("U07")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("=x", "name before = is missing"),
        ("A B=1", "letters, digits and _"),
        ("1A=1", "letters, digits and _"),
        ("export A=1", "letters, digits and _"),
        ("É=1", "letters, digits and _"),
        ("A=1\nA=2", "Line 2: A is there twice"),
        ("A=first\nsecond line of the value", "Line 2: write NAME=value"),
        ("A=\0", "NUL"),
        ("SLURM_JWT=abc", "Slurm sets SLURM_JWT itself"),
        ("A=" + "x" * 131_072, "128 KiB"),
        ("\n".join(f"A{n}=1" for n in range(201)), "At most 200"),
        ("\n".join(f"A{n}=" + "x" * 120_000 for n in range(5)), "512 KiB"),
    ],
)
def test_what_cannot_be_sent_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        parse_environment(text)


@case("U07")
def test_the_safe_environment_holds_nothing_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "of the portal")
    monkeypatch.setenv("PATH", "/of/the/portal")
    safe = safe_environment(account="fhabcd", home="/homes/fhabcd")
    assert safe["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert (safe["HOME"], safe["USER"], safe["LANG"]) == ("/homes/fhabcd", "fhabcd", "C.UTF-8")
    assert "SECRET_KEY" not in safe


names = st.from_regex(r"[A-RT-Z_][A-Z0-9_]{0,20}", fullmatch=True)
values = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=50)


@given(st.dictionaries(names, values, max_size=20))
def test_every_variable_is_read_as_it_was_written(variables: dict[str, str]) -> None:
    text = "\r\n".join(f"{name}={value}" for name, value in variables.items())
    assert parse_environment(text) == variables
