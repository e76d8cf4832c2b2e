"""Each row of the cases that concerns what is built has a test of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture import sources
from tests.cases import rows

# Multi-row actions and end dates come with the pages that need them.
LATER = {"U31", "U37"}


def tagged() -> Iterator[str]:
    """The ids in every `@case("U03", ...)` of the tests."""
    for path in sources.python_files("tests"):
        for name, call in sources.calls(path):
            if name == "case":
                yield from (str(arg.value) for arg in call.args if isinstance(arg, ast.Constant))


def test_each_row_that_is_built_has_a_test() -> None:
    missing = set(rows()) - set(tagged()) - LATER
    assert sorted(missing) == []


def test_what_is_left_for_later_is_in_the_table() -> None:
    assert set(rows()) >= LATER
