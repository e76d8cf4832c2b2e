"""One file for each family of API versions that differs; nothing outside sees the difference."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from clusters.clients.slurmrest.dialects.base import Dialect
from clusters.clients.slurmrest.dialects.v38 import V38
from clusters.clients.slurmrest.dialects.v39 import V39
from clusters.clients.slurmrest.dialects.v40 import V40

VERSION: Final = re.compile(r"v0\.0\.(\d{1,4})")
_FAMILIES: Final[dict[int, Dialect]] = {
    38: V38(),
    39: V39(),
    **dict.fromkeys((40, 41, 42, 43, 44, 45), V40()),
}
SPOKEN: Final = tuple(f"v0.0.{number}" for number in sorted(_FAMILIES, reverse=True))


def choose(offered: Iterable[str]) -> str | None:
    """The newest version that both sides know; else the oldest of those to come; else None."""
    numbers = sorted(int(match[1]) for version in offered if (match := VERSION.fullmatch(version)))
    known = [number for number in numbers if number in _FAMILIES]
    newer = [number for number in numbers if number > max(_FAMILIES)]
    best = known[-1:] or newer[:1]
    return f"v0.0.{best[0]}" if best else None


def dialect_for(version: str) -> Dialect:
    """The dialect of an API version such as "v0.0.38"; of one to come, the newest that there is.

    Raises ValueError for one that we do not speak.
    """
    match = VERSION.fullmatch(version)
    number = min(int(match[1]), max(_FAMILIES)) if match else 0
    if number not in _FAMILIES:
        raise ValueError(f"No dialect for the API version {version!r}.")
    return _FAMILIES[number]
