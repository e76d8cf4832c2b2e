"""The catalogues hold every text of the sources, translated; the compiled files are those of the texts."""

from __future__ import annotations

import gettext
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture import sources
from tests.messages import LANGUAGES, catalogue, compile_to

BLOCK = re.compile(r"\n\n+")
READ = ("portal", "tenants", "clusters", "jobs", "templates", "locale")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources in a scratch copy, with the catalogues brought up to them."""
    root = tmp_path_factory.mktemp("copy")
    unread = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in READ:
        shutil.copytree(sources.ROOT / name, root / name, ignore=unread)
    command = [sys.executable, "-m", "tests.messages", str(root)]
    done = subprocess.run(command, cwd=sources.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return root


def untranslated(path: Path) -> list[str]:
    """The texts of a catalogue that are empty or a guess."""
    found = []
    for block in BLOCK.split(path.read_text(encoding="utf-8"))[1:]:
        message = block.partition("msgid ")[2].partition("\nmsgstr")[0]
        if re.search(r"#,.*\bfuzzy\b", block) or re.search(
            r'^msgstr(?:\[\d\])? ""$(?!\n")', block, re.MULTILINE
        ):
            found.append(message)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(fresh: Path, language: str) -> None:
    """`make messages` adds what is missing; then fill it in locale/."""
    assert untranslated(catalogue(fresh, language)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_catalogue_is_what_make_messages_writes(fresh: Path, language: str) -> None:
    assert catalogue(fresh, language).read_text() == catalogue(sources.ROOT, language).read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_file_is_the_catalogue(tmp_path: Path, language: str) -> None:
    path, made = catalogue(sources.ROOT, language), tmp_path / "made.mo"
    compile_to(path, made)
    with made.open("rb") as ours, path.with_suffix(".mo").open("rb") as kept:
        assert gettext.GNUTranslations(kept)._catalog == gettext.GNUTranslations(ours)._catalog  # type: ignore[attr-defined]


def test_what_is_empty_or_guessed_is_found(tmp_path: Path) -> None:
    path = tmp_path / "some.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n\nmsgid "good"\nmsgstr "gut"\n\nmsgid "long"\nmsgstr ""\n"lang"\n\n'
        'msgid "empty"\nmsgstr ""\n\n#, fuzzy\nmsgid "guess"\nmsgstr "Raten"\n\n'
        'msgid "one"\nmsgid_plural "many"\nmsgstr[0] "eins"\nmsgstr[1] ""\n'
    )
    assert untranslated(path) == ['"empty"', '"guess"', '"one"\nmsgid_plural "many"']
