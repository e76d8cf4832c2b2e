"""Turns a job's bytes into plain text for a page. The template escapes it: HTML stays text."""

from __future__ import annotations

import re
from typing import Final

# CSI (colours, cursor), OSC (titles, links), other strings, and two-character escapes; ECMA-48
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)
# what is left of an escape at either end of a part, controls but TAB and LF, and marks that turn text round
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_OPEN_ESCAPE: Final = re.compile(
    rb"\x1b(?:[ -/]{0,8}|\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\x07\x1b\n]{0,256}\x1b?)\Z"
)


def to_text(data: bytes, *, is_cut: bool = False) -> str:
    """Readable text: bad bytes become U+FFFD, colours are removed, a progress bar shows its last state.

    `is_cut` says that the bytes begin somewhere inside the file: the rest of a line at the start goes.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if is_cut:
        text = _without_first_part(text)
    text = _ESCAPES.sub("", text)
    return "\n".join(_last_state(line) for line in text.split("\n"))


def whole_part(data: bytes) -> bytes:
    """The bytes without a character or an escape that the end cut in two; the next part begins with it."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        if needed > back:
            data = data[:-back]
        break
    window = data[-512:]
    opened = _OPEN_ESCAPE.search(window)
    return data[: len(data) - len(window) + opened.start()] if opened else data


def _without_first_part(text: str) -> str:
    """From the first line that is whole; all of it where there is only one."""
    first, newline, rest = text.partition("\n")
    return rest if newline else first.lstrip("\ufffd")


def _last_state(line: str) -> str:
    """What a terminal would show last of a line that was written over by CR or backspaces."""
    states = [state for state in line.split("\r") if state]
    state = states[-1] if states else ""
    if "\b" in state:
        state = _with_backspaces(state)
    return _UNSEEN.sub("", state)


def _with_backspaces(state: str) -> str:
    shown: list[str] = []
    for letter in state:
        if letter != "\b":
            shown.append(letter)
        elif shown:
            shown.pop()
    return "".join(shown)
