"""Looks for a text in an output file, a block at a time, within a bound on bytes, time and places found.

What is compared is what a page shows of a line: colours removed, of a progress bar its last state, bad bytes
replaced. Small and capital letters of ASCII are one. Runs in the child that is the job's user.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Final

from jobs.output_reader.protocol import MOST_PLACES, Found, Place
from jobs.output_reader.text import to_text

BLOCK: Final = 1024 * 1024
MOST_BYTES: Final = 512 * BLOCK  # of one call
SECONDS: Final = 2.0
BEFORE, LONGEST_TEXT = 80, 240  # characters: shown before what was found, and in all

# as in jobs.output_reader.text, within one line
_ESCAPES: Final = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"
    rb"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    rb"|[PX^_][^\x1b\n]*\x1b\\"
    rb"|[ -/]*[0-~])"
)
_UNSEEN: Final = bytes(number for number in range(32) if number not in b"\t\n\r\b\x1b") + b"\x7f"
_SMALL: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")


def find(read: Callable[[int, int], bytes], size: int, start: int, text: str) -> Found:
    """Places from byte `start` on. `read` gives at most so many bytes from an offset."""
    until = time.monotonic() + SECONDS
    wanted = text.encode("utf-8", "replace").lower()
    places: list[Place] = []
    place, lines = start, 0
    while place < size and place - start < MOST_BYTES and time.monotonic() < until:
        block = read(place, BLOCK)
        if not block:
            break
        block, step = _whole_lines(block, len(wanted), is_last=place + len(block) >= size)
        for begin, end, shown, at in _in_block(block, wanted):
            line = lines + block.count(b"\n", 0, begin)
            places.append(_place(place + begin, line, shown, at, len(text)))
            if len(places) == MOST_PLACES:
                return Found(places=places, next_offset=place + end, lines=line + 1)
        lines += block.count(b"\n", 0, step)
        place += step
    return Found(places=places, next_offset=place, lines=lines)


def _whole_lines(block: bytes, wanted: int, *, is_last: bool) -> tuple[bytes, int]:
    """What to look through, and where to go on; of a line longer than a block the next part overlaps."""
    if is_last:
        return block, len(block)
    cut = block.rfind(b"\n") + 1
    return (block[:cut], cut) if cut else (block, max(1, len(block) - wanted + 1))


def _in_block(block: bytes, wanted: bytes) -> Iterator[tuple[int, int, str, int]]:
    """Lines that show it: where each begins and ends in the block, its text, and the place in that."""
    plain = _ESCAPES.sub(b"", block) if b"\x1b" in block else block
    plain = plain.translate(_SMALL, _UNSEEN)
    is_odd = b"\b" in plain
    if not is_odd and wanted not in plain:
        return
    lines = _lines_with(plain, wanted) if len(plain) == len(block) and not is_odd else _all_lines(block)
    for begin, end in lines:
        shown = to_text(block[begin:end].rstrip(b"\r\n"))
        at = _folded(shown).find(_folded(wanted.decode("utf-8", "replace")))
        if at >= 0:
            yield begin, end, shown, at


def _lines_with(block: bytes, wanted: bytes) -> Iterator[tuple[int, int]]:
    """Of a block that is as it is shown only the lines that matter."""
    at = block.find(wanted)
    while at >= 0:
        begin = block.rfind(b"\n", 0, at) + 1
        end = (block.find(b"\n", at) + 1) or len(block)
        yield begin, end
        at = block.find(wanted, end)


def _all_lines(block: bytes) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(block):
        end = (block.find(b"\n", begin) + 1) or len(block)
        yield begin, end
        begin = end


def _folded(text: str) -> str:
    """With small letters, and as many as before."""
    return text.encode("utf-8", "replace").lower().decode("utf-8", "replace")


def _place(offset: int, line: int, shown: str, at: int, length: int) -> Place:
    first = max(0, at - BEFORE)
    return Place(
        offset=offset, line=line, text=shown[first : first + LONGEST_TEXT], at=at - first, length=length
    )
