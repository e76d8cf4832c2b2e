"""Hands the tables from one process to the other, and writes them into docs/figures.md between two marks."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.table import Table, markdown_of
from tests.bench.world import ROOT

PAGE = ROOT / "docs" / "figures.md"
BEGIN, END = "<!-- written by make bench -->\n", "<!-- end -->\n"


def keep(path: Path, about: str, tables: Sequence[Table]) -> None:
    """For `read` in the process that started this one."""
    rows = [[one.title, one.heads, one.rows] for one in tables]
    path.write_text(json.dumps([about, rows]), encoding="utf-8")


def read(path: Path) -> tuple[str, list[Table]]:
    """What the machine is, and the tables."""
    about, rows = json.loads(path.read_text(encoding="utf-8"))
    return str(about), [Table(*row) for row in rows]


def markdown(about: str, tables: Sequence[Table]) -> str:
    """All of it, ready to stand in docs/figures.md."""
    return "\n".join([f"{about}\n", *(markdown_of(one) for one in tables)])


def write(text: str) -> None:
    """Replace what stands between the marks."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"{PAGE} lacks its marks"
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    sys.stdout.write(f"\nThe tables stand in {PAGE.relative_to(ROOT)} now.\n")
