"""`python -m tests.bench [part ...]`: what people wait for; all parts together go to docs/figures.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench import kube, memory, planes, report, table, world
from tests.e2e.waiting import free_port

PARTS = ("pages", "load", "live", "sockets", "memory", "planes", "kube")
WITHOUT_DJANGO = {"memory", "planes", "kube"}


def main(wanted: list[str]) -> int:
    """Measure and show; figures are for comparing, so nothing is asserted but that pages work."""
    parts = wanted or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        sys.stderr.write(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "tables.json"
        code = _with_django([part for part in parts if part not in WITHOUT_DJANGO], result)
        if code:
            return code
        about, tables = report.read(result)
    if "memory" in parts:
        tables.append(table.collect("Memory of `make run`, nothing to do", memory.HEADS, memory.measure()))
    if "planes" in parts:
        tables.append(table.collect(planes.TITLE, planes.HEADS, planes.measure()))
    if "kube" in parts:
        tables.append(table.collect(kube.TITLE, kube.HEADS, kube.measure()))
    text = report.markdown(about, tables)
    if set(parts) == set(PARTS):
        report.write(text)
    else:
        sys.stdout.write(f"\n{text}")
    return 0


def _with_django(parts: list[str], result: Path) -> int:
    port = free_port()
    with world.stores(port) as environment:
        world.make_database(environment)
        command = [sys.executable, "-m", "tests.bench.figures", str(port), str(result), json.dumps(parts)]
        return subprocess.run(
            command, cwd=world.ROOT, env={**os.environ, **environment}, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
