"""Jobs handed in a second: through the portal, by slurmrestd alone and by sbatch, side by side."""

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

ONE, MANY = 1, 8  # who ask at the same time
# (how many ask, whether Slurm's daemons have a core for themselves and all else has the others)
SETTINGS = ((ONE, False), (MANY, False), (MANY, True))
TITLE = (
    "Submits to a real slurmctld and slurmrestd (22.05, v0.0.38), through two web processes with an observer"
    f" beside them, PostgreSQL with fsync; {MANY} who ask without a pause. All on the same cores, and once as"
    " on a machine each: Slurm's daemons on one core, portal, stores and who asks on the others"
)
HEADS = (
    "way",
    *("one asks: jobs/s", "by slurmrestd alone", f"{MANY} ask: jobs/s", "by slurmrestd alone"),
    *(f"{MANY} ask, a machine each: jobs/s", "by slurmrestd alone"),
    *("processor ms a job: portal", "observer", "PostgreSQL", "slurmrestd", "slurmctld", "who asks"),
)


def measure() -> Iterator[tuple[str, ...]]:
    """One row for each way; measured in a process of its own with stores of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, world.stores(port) as environment:
        world.make_database(environment)
        Path(folder).chmod(0o711)  # jobs run from below it
        result = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "tests.bench.submits_inside", str(port), str(result)]
        subprocess.run(command, cwd=world.ROOT, env={**os.environ, **environment}, check=True)
        for row in json.loads(result.read_text(encoding="utf-8")):
            yield tuple(row)
