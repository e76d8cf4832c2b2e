"""Prints figures in columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of all lie; of the sorted values, the nearest one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def show(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """The first column to the left, numbers to the right."""
    lines = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    sys.stdout.write(f"\n{title}\n")
    for number, line in enumerate(lines):
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        sys.stdout.write("  ".join([f"  {first}", *others]).rstrip() + "\n")
        if number == 0:
            sys.stdout.write("  " + "-" * (sum(widths) + 2 * (len(widths) - 1)) + "\n")
    sys.stdout.flush()
