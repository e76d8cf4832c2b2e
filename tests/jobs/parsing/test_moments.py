"""Moments as sbatch writes them, at a known time."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.parsing.moments import parse_moment, parse_seconds, show_moment
from jobs.parsing.refusal import Refusal
from portal.lib import clock

NOW = dt.datetime(2026, 11, 30, 14, 30, 15, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("now", "2026-11-30 14:30:15 UTC"),
        ("now+90", "2026-11-30 14:31:45 UTC"),
        ("now+1hour", "2026-11-30 15:30:15 UTC"),
        ("now + 2 days", "2026-12-02 14:30:15 UTC"),
        ("now-1week", "2026-11-23 14:30:15 UTC"),
        ("NOW+3minutes", "2026-11-30 14:33:15 UTC"),
        ("16:00", "2026-11-30 16:00:00 UTC"),
        ("13:00", "2026-12-01 13:00:00 UTC"),
        ("1:15:30pm", "2026-12-01 13:15:30 UTC"),
        ("12:00am", "2026-12-01 00:00:00 UTC"),
        ("midnight", "2026-12-01 00:00:00 UTC"),
        ("noon", "2026-12-01 12:00:00 UTC"),
        ("teatime", "2026-11-30 16:00:00 UTC"),
        ("today", "2026-11-30 00:00:00 UTC"),
        ("tomorrow", "2026-12-01 00:00:00 UTC"),
        ("noon tomorrow", "2026-12-01 12:00:00 UTC"),
        ("2027-01-31", "2027-01-31 00:00:00 UTC"),
        ("2027-01-31T18:30", "2027-01-31 18:30:00 UTC"),
        ("2027-01-31T18:30:05", "2027-01-31 18:30:05 UTC"),
        ("0131", "2027-01-31 00:00:00 UTC"),
        ("12/24", "2026-12-24 00:00:00 UTC"),
        ("01/31/27-10:00", "2027-01-31 10:00:00 UTC"),
        ("uts1796042753", "2026-11-30 12:45:53 UTC"),
    ],
)
def test_a_moment_is_read(text: str, shown: str) -> None:
    found = parse_moment(text)
    assert found is not None
    assert show_moment(found) == shown


@pytest.mark.parametrize(
    "text",
    ["yesterday", "soon", "now+", "now+1fortnight", "25:00", "13:00pm", "2027-13-01", "2027-02-30", "T"],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="not a moment"):
        parse_moment(text)


def test_blank_is_no_moment_and_no_span() -> None:
    assert (parse_moment(" "), parse_seconds("")) == (None, None)


@pytest.mark.parametrize(("text", "seconds"), [("10", 600), ("1:30", 90), ("1:00:00", 3600), ("1-0", 86400)])
def test_a_span_is_read_in_seconds(text: str, seconds: int) -> None:
    assert parse_seconds(text) == seconds


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_moment(text)
    except Refusal:
        return
    assert found is None or isinstance(found, int)
