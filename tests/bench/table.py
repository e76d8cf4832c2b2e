"""Figures in columns: for the terminal while they come, and as Markdown for docs/figures.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured; every cell is text already."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie; of the sorted values, the nearest one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def collect(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Measure, and show at once."""
    table = Table(title, list(heads), [[str(cell) for cell in row] for row in rows])
    sys.stdout.write(f"\n{text_of(table)}")
    sys.stdout.flush()
    return table


def text_of(table: Table) -> str:
    """The first column to the left, numbers to the right."""
    lines = [table.heads, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.heads))]
    shown = [_line(line, widths) for line in lines]
    rule = "  " + "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([table.title, shown[0], rule, *shown[1:]]) + "\n"


def markdown_of(table: Table) -> str:
    """The same for a page of the documentation, the title as a sentence above it."""
    lines = [table.heads, ["---", *["---:"] * (len(table.heads) - 1)], *table.rows]
    return "\n".join([f"{table.title}:", "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([f"  {first}", *others]).rstrip()
