"""One file for each family of API versions that differs; nothing outside sees the difference."""

from __future__ import annotations

import re
from typing import Final

from clusters.clients.slurmrest.dialects.base import Dialect
from clusters.clients.slurmrest.dialects.v38 import V38
from clusters.clients.slurmrest.dialects.v40 import V40

VERSION: Final = re.compile(r"v0\.0\.(\d{1,4})")
_FAMILIES: Final[dict[int, Dialect]] = {
    **dict.fromkeys((37, 38), V38()),  # v0.0.36 gives no error numbers
    **dict.fromkeys((40, 41, 42, 43, 44, 45), V40()),
}
SPOKEN: Final = tuple(f"v0.0.{number}" for number in sorted(_FAMILIES, reverse=True))


def dialect_for(version: str) -> Dialect:
    """The dialect of an API version such as "v0.0.38". Raises ValueError for one that we do not speak."""
    match = VERSION.fullmatch(version)
    family = _FAMILIES.get(int(match[1])) if match else None
    if family is None:
        raise ValueError(f"No dialect for the API version {version!r}.")
    return family
