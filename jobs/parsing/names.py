"""Job names and other single lines: all that can be printed is kept as it is."""

from __future__ import annotations

import unicodedata

from django.utils.translation import gettext as _

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
        raise Refusal(_("This cannot hold a line break."))
    for position, character in enumerate(line, start=1):
        if unicodedata.category(character) in {"Cc", "Cs"} or character in _DIRECTION:
            raise Refusal(
                _("Character %(position)d is a control character (%(code)s). Remove it.")
                % {"position": position, "code": f"U+{ord(character):04X}"}
            )
    if len(line) > longest:
        raise Refusal(
            _("At most %(most)d characters; this has %(count)d.") % {"most": longest, "count": len(line)}
        )
    if longest > LONGEST_NAME and len(line.encode()) > MOST_BYTES:
        raise Refusal(
            _("At most %(most)d bytes; letters beyond ASCII take two to four each.") % {"most": MOST_BYTES}
        )
    return line
