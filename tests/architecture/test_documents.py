"""README and docs name only what exists, and the table of settings is complete."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture import sources

DOCUMENTS = sorted([sources.ROOT / "README.md", *(sources.ROOT / "docs").glob("*.md")])
PATH = re.compile(r"`((?:portal|tenants|clusters|jobs|templates|static|tests|docs|requirements)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
TARGET = re.compile(r"`make ([a-z-]+)`")
READERS = {"env.text", "env.flag", "env.number", "env.words"}
VARIABLE = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|", re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=sources.name_of)
def test_documents_name_only_files_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = [name for name in PATH.findall(text) if not (sources.ROOT / name).exists()]
    missing += [name for name in LINK.findall(text) if not (path.parent / name).exists()]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=sources.name_of)
def test_documents_name_only_targets_of_the_makefile(path: Path) -> None:
    makefile = (sources.ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", makefile, re.MULTILINE))
    names = {name for line in known for name in line.split()}
    assert set(TARGET.findall(path.read_text(encoding="utf-8"))) <= names


def test_the_table_of_settings_is_the_settings() -> None:
    read = {
        str(call.args[0].value)
        for path in sources.python_files()
        for name, call in sources.calls(path)
        if name in READERS and isinstance(call.args[0], ast.Constant)
    }
    written = VARIABLE.findall((sources.ROOT / "README.md").read_text(encoding="utf-8"))
    assert sorted(written) == sorted(set(written)), "a variable stands there twice"
    assert set(written) == read


def test_the_screenshot_is_there_and_small() -> None:
    picture = sources.ROOT / "docs" / "screenshot.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000
