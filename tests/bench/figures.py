"""What needs Django: `python -m tests.bench.figures PORT RESULT PARTS`, with a portal's variables set."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from tests.bench import live, load, machine, pages, report, sockets  # noqa: E402
from tests.bench.furniture import Facts, furnish  # noqa: E402
from tests.bench.table import Table, collect  # noqa: E402
from tests.clusters import fakes  # noqa: E402


def main(port: int, result: Path, parts: Collection[str]) -> None:
    """Measure the parts that are asked for, and keep their tables."""
    about = machine.describe()
    sys.stdout.write(f"{about}\n")
    with tempfile.TemporaryDirectory() as outside:
        fakes.install(Path(outside))
        facts = furnish()
    tables = list(_measure(facts, port, parts))
    flat = [pages.verdict(table.rows) for table in tables if table.heads == list(pages.HEADS)]
    report.keep(result, "\n\n".join([f"{about} {machine.load()} at the end.", *flat]), tables)


def _measure(facts: Facts, port: int, parts: Collection[str]) -> Iterator[Table]:
    """Pages, requests a second, change-to-browser, many sockets."""
    environment = dict(os.environ)
    if "pages" in parts:
        yield collect("Pages, in one process, in ms", pages.HEADS, pages.measure(facts))
    if "load" in parts:
        with live.web(environment, port, processes=2):
            title = f"Two web processes, {load.CLIENTS} connections from the same cores, 10,000 rows"
            yield collect(title, load.HEADS, load.measure(facts, port))
    with live.web(environment, port) as pid:
        if "live" in parts:
            title = f"Change to browser, {live.GATHER_MS} ms of it gather changes"
            yield collect(title, live.HEADS, live.measure(facts, port))
        if "sockets" in parts:
            title = f"{sockets.CLIENTS} sockets of as many people at one web process"
            yield collect(title, sockets.HEADS, sockets.measure(facts, port, pid))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
