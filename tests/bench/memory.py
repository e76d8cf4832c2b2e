"""What each process of `make run` holds in memory, idle, with one local cluster's worth of nothing to do."""

from __future__ import annotations

from collections.abc import Iterator

from portal.lib import processes
from tests.bench.machine import memory_of
from tests.e2e import supervised

PARTS = ("postgres", "redis", "oidc", "web", "worker", "beat", "local", "observer", "outputs")
HEADS = ("part", "processes", "MiB (PSS)")


def measure() -> Iterator[tuple[str, int, str]]:
    """One row for each part, its children included, and the sum."""
    total = 0.0
    with supervised.running() as portal:
        for part in PARTS:
            pid = portal.pid_of(part)
            family = processes.descendants([pid]) if pid else []
            size = sum(memory_of(member) for member in family)
            total += size
            yield part, len(family), f"{size:.0f}"
    yield "all", 0, f"{total:.0f}"
