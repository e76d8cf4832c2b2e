"""How long an approved order takes until all its objects stand, by the real engine and beside kubectl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from setup import kube
from tests.bench import world
from tests.e2e.waiting import free_port

TITLE = "Approval of an order to all objects of its cluster applied, by the engine with its database"
HEADS = (
    "tenants",
    "workers",
    "objects each",
    "ms each",
    "ms each by kubectl",
    "ratio",
    "reads of a ready pass",
    "changes of it",
    "kinds",
)


def measure() -> Iterator[tuple[str, ...]]:
    """One row for each number of tenants, by one worker process and by as many as there are cores."""
    if kube.find(world.ROOT).keys() != kube.PACKAGES.keys():
        yield ("not measured: run `make kube-assets`", *("" for _ in HEADS[1:]))
        return
    with world.stores(free_port()) as environment, tempfile.TemporaryDirectory() as folder:
        world.make_database(environment)
        result = Path(folder) / "rows.json"
        subprocess.run(
            [sys.executable, "-m", "tests.bench.passes", str(result)],
            cwd=world.ROOT,
            env={**os.environ, **environment},
            check=True,
        )
        for row in json.loads(result.read_text(encoding="utf-8")):
            yield tuple(row)
