"""`make messages`: brings the catalogue of each language up to the sources, sorted, and compiles it.

Without line numbers and dates, so that it changes only where a text does; new texts are empty, never guessed.
The compiled file is committed: a machine that only runs the portal needs no gettext.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from django.core.management import call_command
from django.core.management.commands import makemessages

LANGUAGES = ("de",)
NOT_OURS = ("tests/*", "setup/*", "static/*", "staticfiles/*", "shots/*", "docs/*", "node_modules/*", ".*")
GETTEXT = ["--no-wrap", "--sort-output", "--no-location"]


class Messages(makemessages.Command):
    """Django's, with a stable order and without guesses."""

    msgmerge_options = ["-q", "--backup=none", "--update", "--no-fuzzy-matching", *GETTEXT]
    msgattrib_options = ["--no-obsolete", *GETTEXT]
    xgettext_options = ["--from-code=UTF-8", "--add-comments=Translators", *GETTEXT]


def catalogue(root: Path, language: str) -> Path:
    """Where the texts of a language stand."""
    return root / "locale" / language / "LC_MESSAGES" / "django.po"


def update(root: Path) -> None:
    """Extract, merge and compile in the folder of the repository, or of a copy of it."""
    with contextlib.chdir(root):
        Path("locale").mkdir(exist_ok=True)
        call_command(
            Messages(),
            locale=list(LANGUAGES),
            extensions=["html", "txt", "py"],
            ignore_patterns=list(NOT_OURS),
            no_wrap=True,
            no_location=True,
            no_obsolete=True,
            verbosity=0,
        )
    for language in LANGUAGES:
        path = catalogue(root, language)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        dated = ('"POT-Creation-Date', '"PO-Revision-Date', '"Last-Translator', '"Language-Team')
        path.write_text("".join(line for line in lines if not line.startswith(dated)), encoding="utf-8")
        compile_to(path, path.with_suffix(".mo"))


def compile_to(path: Path, target: Path) -> None:
    """The compiled form; wrong placeholders or plurals are an error."""
    command = ["msgfmt", "--check-format", "--check-domain", "--output-file", str(target), str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)  # the texts are read, nothing is imported
    update(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
