"""What each process of `make run` holds in memory, idle, with one local cluster's worth of nothing to do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from portal.lib import processes
from tests.bench.machine import memory_of
from tests.e2e import supervised
from tests.e2e.waiting import until

PARTS = ("postgres", "redis", "oidc", "web", "worker", "beat", "local", "observer", "outputs")
LATE = ("web", "worker", "beat", "local", "observer", "outputs")  # still start when the first page answers
POOLS = ("worker", "local")  # a parent with two children
CALM = 5.0  # seconds in which nothing grows by more than GROWTH: all has started
GROWTH = 1.0  # MiB
HEADS = ("part", "processes", "MiB (PSS)")


def measure() -> Iterator[tuple[str, int, str]]:
    """One row for each part, its children included, and the sum."""
    count, total = 0, 0.0
    with supervised.running() as portal:
        seen: list[tuple[float, float]] = []
        until(lambda: _is_calm(portal, seen), "all parts have started", seconds=120)
        for part in PARTS:
            members, size = _size(portal, part)
            count, total = count + members, total + size
            yield part, members, f"{size:.0f}"
    yield "all", count, f"{total:.0f}"


def _is_calm(portal: supervised.Portal, seen: list[tuple[float, float]]) -> bool:
    """Every pool has its children, and for a while the sum has not moved; `seen` is what it was, and when."""
    sizes = {part: _size(portal, part) for part in LATE}
    now = time.monotonic()
    seen.append((now, sum(size for _, size in sizes.values())))
    recent = [total for at, total in seen if at > now - CALM]
    long_enough = seen[0][0] <= now - CALM
    return (
        long_enough
        and max(recent) - min(recent) < GROWTH
        and all(sizes[part][0] >= (3 if part in POOLS else 1) for part in LATE)
    )


def _size(portal: supervised.Portal, part: str) -> tuple[int, float]:
    pid = portal.pid_of(part)
    family = processes.descendants([pid]) if pid else []
    with suppress(OSError):  # one ended meanwhile
        return len(family), sum(memory_of(member) for member in family)
    return 0, 0.0
