"""Job names and other single lines: all that can be printed is kept as it is."""

from __future__ import annotations

import unicodedata

from jobs.parsing.refusal import Refusal

LONGEST_NAME = 255  # characters: at most 1020 bytes, below Slurm's 1024
MOST_BYTES = 1000  # of longer texts; Slurm takes 1024, and our mark must fit too
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def parse_line(text: str, *, longest: int = LONGEST_NAME) -> str | None:
    """One line without control characters, or None for blank. Raises Refusal."""
    line = text.strip(" ")
    if not line.strip():
        return None
    if "\n" in line or "\r" in line or "\u2028" in line or "\u2029" in line:
        raise Refusal("This cannot hold a line break.")
    for position, character in enumerate(line, start=1):
        if unicodedata.category(character) in {"Cc", "Cs"} or character in _DIRECTION:
            raise Refusal(f"Character {position} is a control character (U+{ord(character):04X}). Remove it.")
    if len(line) > longest:
        raise Refusal(f"At most {longest} characters; this has {len(line)}.")
    if longest > LONGEST_NAME and len(line.encode()) > MOST_BYTES:
        raise Refusal(f"At most {MOST_BYTES} bytes; letters beyond ASCII take two to four each.")
    return line
