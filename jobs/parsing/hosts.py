"""Slurm's lists of hosts: "n[1-3,07],gpu-a" holds n1, n2, n3, n07 and gpu-a."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

MOST = 100_000  # names of one text; beyond that it is no list of a real cluster
_PART = re.compile(r"\[([^\]]*)\]")
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def hosts(text: str) -> list[str]:
    """All names in the text's order; what cannot be read is left as it is."""
    found: list[str] = []
    for pattern in _split(text):
        for name in _expanded(pattern):
            found.append(name)
            if len(found) >= MOST:
                return found
    return found


def holds(text: str, host: str) -> bool:
    """Whether the list names this host."""
    if text == host:
        return True
    return any(_matches(pattern, host) for pattern in _split(text))


def _split(text: str) -> Iterator[str]:
    """At the commas that stand outside of brackets."""
    begin = depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:].strip()


def _expanded(pattern: str) -> Iterator[str]:
    pieces = _PART.split(pattern)  # name, inside of a bracket, name, ...
    choices = [[piece] if place % 2 == 0 else list(_numbers(piece)) for place, piece in enumerate(pieces)]
    for chosen in product(*choices):
        yield "".join(chosen)


def _numbers(inside: str) -> Iterator[str]:
    """What a bracket stands for, with the zeros in front that it is written with."""
    for part in inside.split(","):
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            yield part
            continue
        first, last = match[1], match[2] or match[1]
        for number in range(int(first), min(int(last), int(first) + MOST) + 1):
            yield str(number).zfill(len(first))


def _matches(pattern: str, host: str) -> bool:
    """Without writing out what the brackets stand for."""
    if "[" not in pattern:
        return pattern == host
    pieces = _PART.split(pattern)
    shape = "".join(re.escape(piece) if place % 2 == 0 else r"(\d+)" for place, piece in enumerate(pieces))
    match = re.fullmatch(shape, host, re.ASCII)
    return match is not None and all(
        _within(inside, number) for inside, number in zip(pieces[1::2], match.groups(), strict=True)
    )


def _within(inside: str, number: str) -> bool:
    for part in inside.split(","):
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            continue
        first, last = match[1], match[2] or match[1]
        if int(first) <= int(number) <= int(last) and number == str(int(number)).zfill(len(first)):
            return True
    return False
