"""Runs the output reader over a file of targets instead of a database: `SOCKET TARGETS PORTAL_USER`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import msgspec

from jobs.output_reader.protocol import Request, Target
from jobs.output_reader.server import OutputReader


def main() -> None:
    """Serve until SIGTERM."""
    socket, targets, user = sys.argv[1:]

    def find(request: Request) -> Target | None:
        known = msgspec.json.decode(Path(targets).read_bytes(), type=dict[str, dict[str, Target]])
        return known.get(str(request.job), {}).get(request.stream)

    reader = OutputReader(Path(socket), find, portal_user=user)
    signal.signal(signal.SIGTERM, lambda *_: reader.stop())
    reader.serve()


if __name__ == "__main__":
    main()
