"""The part that needs Django: `python -m tests.bench.figures PORT`, with the variables of a portal set."""

from __future__ import annotations

import os
import sys

import django

django.setup()

# Models may be imported only after Django is set up, which the line above does.
from tests.bench import live, machine, pages, table  # noqa: E402
from tests.bench.furniture import furnish  # noqa: E402


def main(port: int) -> None:
    """Pages and change-to-browser."""
    sys.stdout.write(f"{machine.describe()}\n")
    facts = furnish()
    table.show("Pages, in one process", pages.HEADS, pages.measure(facts))
    with live.web(dict(os.environ), port) as pid:
        table.show("Change to browser", live.HEADS, live.measure(facts, port))
        sys.stdout.write(f"\n  The web process holds {machine.memory_of(pid):.0f} MiB after that.\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
