"""The tracked files of the repository, for tests that read the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("portal", "tenants", "clusters", "jobs")
GENERATED = "migrations"


def python_files(*folders: str) -> list[Path]:
    """Every module below these folders (all packages by default), migrations left out."""
    found = [path for folder in folders or PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if GENERATED not in path.parts and "node_modules" not in path.parts]


def templates() -> list[Path]:
    """Every template."""
    return sorted((ROOT / "templates").rglob("*.html"))


def name_of(path: Path) -> str:
    """The path as people write it."""
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call with its dotted name, e.g. "subprocess.run"; calls of calls have none."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and (name := dotted(node.func)):
            yield name, node


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a chain of attributes, or ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (left := dotted(node.value)):
        return f"{left}.{node.attr}"
    return ""


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module and name with its line; only absolute imports are used here."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
