"""The part that needs Django: `python -m tests.bench.figures PORT`, with the variables of a portal set."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from tests.bench import live, load, machine, pages, sockets, table  # noqa: E402
from tests.bench.furniture import furnish  # noqa: E402
from tests.clusters import fakes  # noqa: E402


def main(port: int) -> None:
    """Pages, requests a second, change-to-browser, many sockets."""
    sys.stdout.write(f"{machine.describe()}\n")
    with tempfile.TemporaryDirectory() as outside:
        fakes.install(Path(outside))
        facts = furnish()
    table.show("Pages, in one process", pages.HEADS, pages.measure(facts))
    environment = dict(os.environ)
    with live.web(environment, port, processes=2):
        title = f"Two web processes, {load.CLIENTS} connections on the same cores"
        table.show(title, load.HEADS, load.measure(facts, port))
    with live.web(environment, port) as pid:
        table.show("Change to browser", live.HEADS, live.measure(facts, port))
        title = "Many sockets, one web process"
        table.show(title, sockets.HEADS, sockets.measure(facts, port, pid))


if __name__ == "__main__":
    main(int(sys.argv[1]))
