"""`python -m tests.bench`: pages, change-to-browser and memory, as tables."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.bench import memory, table, world
from tests.e2e.waiting import free_port


def main() -> int:
    """Measure and print; figures are for comparing, so nothing is asserted but that pages work."""
    port = free_port()
    with world.stores(port) as environment:
        world.make_database(environment)
        command = [sys.executable, "-m", "tests.bench.figures", str(port)]
        done = subprocess.run(command, cwd=world.ROOT, env={**os.environ, **environment}, check=False)
    table.show("Memory of `make run`", memory.HEADS, memory.measure())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
