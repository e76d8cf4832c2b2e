"""A queue of 100, 10,000 and 50,000 separate jobs on a real Slurm: looks, pages and changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import world
from tests.e2e.waiting import free_port

SIZES = tuple(int(size) for size in os.environ.get("BENCH_QUEUE", "100,10000,50000").split(","))
TITLE = "A queue of separate pending jobs at a real slurmctld and slurmrestd (22.05, v0.0.38)"
HEADS = ("", *(f"{size:,} jobs" for size in SIZES))


def measure() -> Iterator[tuple[str, ...]]:
    """One row for each figure; measured in a process of its own with stores of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, world.stores(port) as environment:
        world.make_database(environment)
        result = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "tests.bench.queue_inside", str(port), str(result)]
        subprocess.run(command, cwd=world.ROOT, env={**os.environ, **environment}, check=True)
        for row in json.loads(result.read_text(encoding="utf-8")):
            yield tuple(row)
