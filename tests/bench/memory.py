"""What each process of `make run` holds in memory, idle, with one local cluster's worth of nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from portal.lib import processes
from tests.bench.machine import memory_of
from tests.e2e import supervised
from tests.e2e.waiting import until

PARTS = ("postgres", "redis", "oidc", "web", "worker", "beat", "local", "observer", "outputs")
LATE = ("web", "worker", "beat", "local", "observer", "outputs")  # still start when the first page answers
POOLS = ("worker", "local")  # a parent with two children
STARTED = 30.0  # MiB: more than a bare Python
HEADS = ("part", "processes", "MiB (PSS)")


def measure() -> Iterator[tuple[str, int, str]]:
    """One row for each part, its children included, and the sum."""
    count, total = 0, 0.0
    with supervised.running() as portal:
        until(
            lambda: all(_size(portal, part)[1] > STARTED for part in LATE),
            "all parts have started",
            seconds=90,
        )
        for part in PARTS:
            members, size = _size(portal, part)
            count, total = count + members, total + size
            yield part, members, f"{size:.0f}"
    yield "all", count, f"{total:.0f}"


def _has_started(portal: supervised.Portal, part: str) -> bool:
    members, size = _size(portal, part)
    return size > STARTED and members >= (3 if part in POOLS else 1)


def _size(portal: supervised.Portal, part: str) -> tuple[int, float]:
    pid = portal.pid_of(part)
    family = processes.descendants([pid]) if pid else []
    with suppress(OSError):  # one ended meanwhile
        return len(family), sum(memory_of(member) for member in family)
    return 0, 0.0
