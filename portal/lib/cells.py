"""Cells of a CSV file that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable

# what starts a formula in one program or another; the last four are the full-width forms
FORMULAS = frozenset(
    "=+-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)


class _Line:
    """A file that hands back what was written."""

    def write(self, text: str) -> str:
        return text


_WRITER = csv.writer(_Line())


def csv_line(cells: Iterable[object]) -> str:
    """One line, ended by CR LF. Each cell is text, made inert."""
    return str(_WRITER.writerow([inert(str(cell)) for cell in cells]))


def inert(cell: str) -> str:
    """The cell, behind an apostrophe if a spreadsheet would calculate it; without NUL."""
    cell = cell.replace("\0", "")
    return f"'{cell}" if cell[:1] in FORMULAS else cell
