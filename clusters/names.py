"""Turns what people type into names that Slurm, Kubernetes and we can all use, or says the rule."""

from __future__ import annotations

import re
import unicodedata

CLUSTER_LENGTH = 40
POOL_LENGTH = 30
RESERVED = frozenset({"default", "all", "none", "any", "unlimited", "infinite", "root", "slurm"})
RULE = "letters, digits and hyphens, beginning with a letter"
SAFE = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")


class NameRefused(ValueError):
    """The name cannot be used or mapped; the text is the message beside the field."""


def safe_name(typed: str, *, longest: int) -> str:
    """The name under which a thing will run: "Team A" becomes team-a, "Ünï" becomes uni.

    The same text always gives the same name. Raises NameRefused.
    """
    text = typed.strip(" ")
    if not text:
        raise NameRefused(f"Enter a name: {RULE}.")
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp", "Cs"} for letter in text):
        raise NameRefused("A name cannot hold line breaks or other control characters.")
    if len(text) > longest:
        raise NameRefused(f"A name has at most {longest} characters; this one has {len(text)}.")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not SAFE.fullmatch(name) or len(name) > longest:
        raise NameRefused(f"A name has {RULE}; nothing usable is left of this one.")
    if name in RESERVED:
        raise NameRefused(f"The name {name} means something to Slurm or to us. Choose another.")
    return name


def cluster_name(typed: str) -> str:
    """A cluster's name. Raises NameRefused."""
    return safe_name(typed, longest=CLUSTER_LENGTH)


def pool_name(typed: str) -> str:
    """The name of a node pool and of its partition. Raises NameRefused."""
    return safe_name(typed, longest=POOL_LENGTH)


def nodes(count: int) -> str:
    """1 node, 2 nodes."""
    return f"{count} node{'' if count == 1 else 's'}"
