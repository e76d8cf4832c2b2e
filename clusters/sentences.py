"""Sentences that workers store with a reason, in the reader's language.

A worker writes English, with names and numbers in it: data, which stays as it is. What a driver can say
stands in said_here or said_vendors once more, with its changing parts as {0}, {1}; a stored sentence is
found by its fixed words. One that nobody entered is shown as it was stored; a test finds it in the sources.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import Formatter

from django.utils.translation import get_language, gettext

from clusters import said_here, said_vendors

DEEPEST = 3  # sentences within a sentence: what was last seen, within what was not done in time


def told(stored: str) -> str:
    """A stored sentence in the reader's language; as it is where nobody entered it, and in English."""
    return stored if (get_language() or "en").startswith("en") else _told(stored, DEEPEST)


def is_known(stored: str) -> bool:
    """Whether the sentence can be said in another language."""
    return _match(stored) is not None


def _told(stored: str, depth: int) -> str:
    found = _match(stored)
    if found is None or not depth:
        return stored
    sentence, parts = found
    return gettext(sentence).format(*(_told(part, depth - 1) for part in parts))


@lru_cache(maxsize=2048)
def _match(stored: str) -> tuple[str, tuple[str, ...]] | None:
    for pattern, sentence in _patterns():
        if found := pattern.fullmatch(stored):
            return sentence, found.groups()
    return None


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The most fixed words first: what fits two sentences is the one that says more."""
    made = []
    for sentence in (*said_here.SAID, *said_vendors.SAID):
        parts = list(Formatter().parse(sentence))
        text = "".join(re.escape(fixed) + ("" if name is None else "(.*?)") for fixed, name, *_more in parts)
        made.append((sum(len(fixed) for fixed, *_more in parts), re.compile(text, re.DOTALL), sentence))
    return tuple((pattern, sentence) for _weight, pattern, sentence in sorted(made, key=lambda one: -one[0]))
