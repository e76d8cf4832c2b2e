"""Ties tests to rows of cases.md: `@case("U03")`. `python -m tests.cases` prints each row with its tests."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("cases.md")
ROW = re.compile(r"^\| (U\d+) \| (.+?) \| ")


def case(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof of these rows. An id that the table does not hold is an error at once."""
    unknown = set(ids) - set(rows())
    if unknown or not ids:
        raise ValueError(f"cases.md has no row {', '.join(sorted(unknown)) or '(none given)'}")
    return pytest.mark.case(*ids)


def rows() -> Mapping[str, str]:
    """Id to situation, in the order of the table."""
    found = (ROW.match(line) for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {match[1]: match[2] for match in found if match}


class _Collector:
    """A pytest plugin that only looks at the marks."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            name = item.nodeid.split("[")[0]
            for mark in item.iter_markers("case"):
                for row in mark.args:
                    if name not in self.tests.setdefault(row, []):
                        self.tests[row].append(name)


def main() -> int:
    """Print the table with the tests of each row; the exit code is pytest's own."""
    collector = _Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:randomly"], plugins=[collector])
    if code != pytest.ExitCode.OK:
        sys.stdout.write(said.getvalue())
    for row, situation in rows().items():
        tests = sorted(collector.tests.get(row, []))
        sys.stdout.write(f"{row}  {situation[:100]}{'...' if len(situation) > 100 else ''}\n")
        sys.stdout.writelines(f"       {name}\n" for name in tests or ["(no test yet)"])
    proved = sum(1 for row in rows() if collector.tests.get(row))
    sys.stdout.write(f"\n{proved} of {len(rows())} rows have a test.\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
