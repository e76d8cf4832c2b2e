"""Size and docstrings of modules."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

from tests.architecture import sources

LONGEST_MODULE = 400
LONGEST_FUNCTION = 80  # the aim is 40; what is longer is a table


def lines_of(path: Path) -> int:
    """Lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def everything() -> list[Path]:
    """Modules and their tests."""
    return sources.python_files(*sources.PACKAGES, "tests")


def test_each_module_says_what_it_is_for() -> None:
    silent = [
        sources.name_of(path)
        for path in everything()
        if path.stat().st_size and not ast.get_docstring(sources.tree_of(path))
    ]
    assert silent == []


def test_each_module_fits_into_the_head() -> None:
    assert [sources.name_of(path) for path in everything() if lines_of(path) > LONGEST_MODULE] == []


def test_each_function_fits_onto_a_screen() -> None:
    long = [
        f"{sources.name_of(path)}: {node.name}"
        for path in everything()
        for node in ast.walk(sources.tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_most_modules_are_short() -> None:
    sizes = sorted(lines_of(path) for path in sources.python_files() if path.stat().st_size)
    assert statistics.median(sizes) < 100
    assert sizes[int(len(sizes) * 0.9)] < 250
