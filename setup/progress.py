"""Says what happens, with the seconds since the beginning, and keeps long commands from looking stuck."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

BEGIN = time.monotonic()
EVERY = 3.0  # seconds between two lines about one long command
LAST_LINES = 40


class SetupFailed(Exception):
    """The set-up cannot go on; the message says what is missing and what to do."""


def say(text: str) -> None:
    """One line with the elapsed time."""
    sys.stdout.write(f"[{time.monotonic() - BEGIN:5.1f} s] {text}\n")
    sys.stdout.flush()


def run(
    command: Sequence[str],
    *,
    log: Path,
    note: Callable[[str], str | None],
    environment: Mapping[str, str] | None = None,
) -> bool:
    """Run a command with its output in a log file; `note` makes a progress text of a line, or None.

    False when it failed; then the end of its output is shown.
    """
    lines: list[str] = []
    shown = time.monotonic()
    child = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment) if environment is not None else None,
        text=True,
        errors="replace",
    )
    with child, log.open("w", encoding="utf-8") as file:
        for line in child.stdout or ():
            file.write(line)
            lines = [*lines[-LAST_LINES:], line]
            text = note(line.rstrip())
            if text and time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                say(f"  ... {text}")
    code = child.returncode
    if code:
        sys.stdout.write("".join(lines))
        say(f"{command[0]} ended with code {code}; its whole output is in {log}")
    return code == 0
