"""`python -m tests.bench [part ...]`: what people wait for; all parts together go to docs/figures.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.bench import kube, machine, memory, planes, queue, report, submits, table, world
from tests.e2e.waiting import free_port

PARTS = ("pages", "load", "live", "sockets", "memory", "planes", "kube", "submits", "queue")
OUTSIDE: dict[str, tuple[str, Sequence[str], Callable[[], Iterable[Sequence[object]]]]] = {
    "memory": ("Memory of `make run`, nothing to do", memory.HEADS, memory.measure),
    "planes": (planes.TITLE, planes.HEADS, planes.measure),
    "kube": (kube.TITLE, kube.HEADS, kube.measure),
    "submits": (submits.TITLE, submits.HEADS, submits.measure),  # before so many files are deleted
    "queue": (queue.TITLE, queue.HEADS, queue.measure),
}


def main(wanted: list[str]) -> int:
    """Measure and show; figures are for comparing, so nothing is asserted but that pages work."""
    parts = wanted or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        sys.stderr.write(f"There is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}.\n")
        return 2
    about, tables = _inside([part for part in parts if part not in OUTSIDE])
    failed = []
    for part in parts:
        if part in OUTSIDE:
            try:
                tables.append(_outside(part))
            except Exception:  # noqa: BLE001  # what was measured is worth having without it
                sys.stderr.write(traceback.format_exc())
                failed.append(part)
    text = report.markdown(about, tables)
    if set(parts) == set(PARTS):
        report.write(text)
    else:
        sys.stdout.write(f"\n{text}")
    if failed:
        sys.stderr.write(f"Not measured, for what stands above: {', '.join(failed)}.\n")
    return 1 if failed else 0


def _outside(part: str) -> table.Table:
    title, heads, measure = OUTSIDE[part]
    return table.collect(title, heads, measure())


def _inside(parts: list[str]) -> tuple[str, list[table.Table]]:
    """The tables that need Django and data. Raises SystemExit."""
    if not parts:
        return machine.describe(), []
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "tables.json"
        if code := _with_django(parts, result):
            sys.exit(code)
        return report.read(result)


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
