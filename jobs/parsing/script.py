"""Batch scripts: the checks that the sbatch client makes and slurmrestd does not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.parsing.numbers import grouped
from jobs.parsing.refusal import Refusal
from portal.lib.types import Words

LARGEST = 1024 * 1024  # bytes
_SHEBANG = re.compile(r"#![ \t]*/\S")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it will be stored and sent, and what was changed on the way."""

    text: str
    notes: tuple[Words, ...] = ()  # lazy: kept in English, shown in the reader's language


def parse_script(text: str, *, typed: bool = False) -> Script:
    """The script with LF line ends. Raises Refusal.

    `typed`: browsers send every line of a text field with CR LF, so that is not worth a note.
    """
    notes: list[Words] = []
    if text.startswith(_BOM):
        text = text.removeprefix(_BOM)
        notes.append(gettext_lazy("The byte order mark at the start was removed."))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not typed:
            notes.append(gettext_lazy("Windows line ends (CR LF) became LF."))
    _check(text)
    return Script(text, tuple(notes))


def wrap(command: str) -> Script:
    """A command as the script that sbatch --wrap makes of it. Raises Refusal."""
    if not command.strip():
        raise Refusal(_("Write the command."))
    return parse_script(f"#!/bin/sh\n# made from one command\n\n{command}\n", typed=True)


def parse_upload(content: bytes) -> Script:
    """An uploaded file as a script. Raises Refusal."""
    if len(content) > LARGEST:
        raise Refusal(_too_large(len(content)))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refusal(_("The file is UTF-16 text. Save it as UTF-8."))
    try:
        return parse_script(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Refusal(
            _("The file is not UTF-8 text (line %(line)d). Is it a program? Name a text script.")
            % {"line": line}
        ) from error


def _check(text: str) -> None:
    if not text.strip():
        raise Refusal(_("The script is empty. Begin with #!/bin/bash and the commands below it."))
    if "\0" in text:
        raise Refusal(_("The script holds a NUL character, which no shell can read. Remove it."))
    size = len(text.encode("utf-8", "replace"))
    if size > LARGEST:
        raise Refusal(_too_large(size))
    if not text.startswith("#!"):
        told = _("The first line must name the program that runs the script, for example #!/bin/bash.")
        is_below = text.lstrip().startswith("#!")
        lines = _("Remove the empty lines above it.") if is_below else ""
        raise Refusal(f"{told} {lines}".rstrip())
    if _SHEBANG.match(text) is None:
        raise Refusal(
            _("The first line must hold a full path, for example #!/bin/bash or #!/usr/bin/env python3.")
        )


def _too_large(size: int) -> str:
    told = _("The script has %(size)s bytes; %(most)s (1 MiB) is the limit. Put data into files beside it.")
    return told % {"size": grouped(size), "most": grouped(LARGEST)}
