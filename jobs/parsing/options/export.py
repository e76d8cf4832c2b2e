"""--export: which variables of the environment from which a job is submitted it gets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext as _

from jobs.parsing.refusal import Refusal

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Export:
    """ALL, NONE or NIL alone, or a list; `sets` are its NAME=value, `keeps` its bare names."""

    text: str
    everything: bool
    sets: tuple[tuple[str, str], ...] = ()
    keeps: tuple[str, ...] = ()

    @property
    def needs_login(self) -> bool:
        """Without ALL alone, the node asks for the environment of a login, too."""
        return self.text.upper() not in {"ALL", "NIL"}

    @property
    def is_told(self) -> bool:
        """srun in the script is told of all but ALL."""
        return self.text.upper() != "ALL"


def read_export(text: str) -> Export:
    """ALL, NONE, NIL, or NAME, NAME=value and ALL with commas between. Raises Refusal."""
    word = text.strip()
    if word.upper() in {"ALL", "NONE", "NIL"}:
        return Export(word.upper(), everything=word.upper() == "ALL")
    everything, sets, keeps = False, [], []
    for part in _split(word):
        name, equals, value = part.partition("=")
        if part.upper() == "ALL":
            everything = True
        elif _NAME.fullmatch(name) is None:
            raise Refusal(_("Write names and NAME=value with commas between, or ALL or NONE."))
        elif equals:
            sets.append((name, value))
        else:
            keeps.append(name)
    if not (everything or sets or keeps):
        raise Refusal(_("Write names and NAME=value with commas between, or ALL or NONE."))
    return Export(word, everything=everything, sets=tuple(sets), keeps=tuple(keeps))


def _split(word: str) -> list[str]:
    """At commas outside of quotes; the quotes go."""
    parts, quote = [""], ""
    for letter in word:
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif letter == "," and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]
