"""What a check found, in words that the cluster's owner may read; who the others are is for operators."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from portal.lib.errors import OutsideError


class Outcome(enum.Enum):
    """What was not tried has not passed."""

    PASSED = "passed"
    UNCHECKED = "unchecked"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """Of one check."""

    outcome: Outcome
    text: str  # a sentence of clusters.isolation.SAID
    hint: str = ""  # for operators
    reason: str = ""  # of a failure, CamelCase
    again: bool = False  # what could not be checked may be checkable at the next look


def passed(text: str) -> Finding:
    """It holds: that was seen."""
    return Finding(Outcome.PASSED, f"passed: {text}")


def unchecked(why: str, *, again: bool = False) -> Finding:
    """Nothing can be said."""
    return Finding(Outcome.UNCHECKED, f"not checked, because {why}", again=again)


def failed(reason: str, text: str, hint: str) -> Finding:
    """It does not hold."""
    return Finding(Outcome.FAILED, f"failed: {text}", hint=hint, reason=reason)


NO_OTHER = "there is no other server here at which to try it"
SILENT = "no other server answered"
OWN_SILENT = "this cluster's own server did not answer"
NO_API = "this cluster has no API server"
NO_SLURM = "this cluster has no Slurm"
NOT_YET = "this cluster's API server is not ready yet"


def tally(doors: Iterable[tuple[str, Callable[[], bool]]], *, until: float) -> tuple[int, list[str]]:
    """How many doors refused, and the names of those that let in. Silence, or no time left, is neither."""
    refused, took = 0, list[str]()
    for name, is_taken in doors:
        if time.monotonic() > until:
            break
        try:
            if is_taken():
                took.append(name)
            else:
                refused += 1
        except OutsideError:
            continue
    return refused, took
