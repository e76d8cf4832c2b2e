"""Shows the log files of all parts as one stream with a prefix; the files stay the parts' own."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

WIDTH = 8
COLOURS = {"web": 36, "worker": 32, "local": 33, "observer": 35, "oidc": 34, "postgres": 90, "redis": 90}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
REDIS = re.compile(r"^\d+:\S+ .*? [#*] ?(?P<text>.*)$")
REDIS_HABITS = (
    "oO0OoO0",
    "Redis version",
    "Configuration loaded",
    "Server initialized",
    "WARNING Memory overcommit",
    "User requested shutdown",
    "Redis is now ready to exit",
)
# what each says at every ordered stop; the supervisor's own line says that it goes on
STOPPING = re.compile(
    r"LOG:  (?:received (?:fast|smart) shutdown request|aborting any active transactions|shutting down"
    r"|background worker .* exited with exit code 1|database system is shut down)"
    r"|INFO:     (?:Shutting down|Finished server process|Waiting for (?:connections|background tasks))"
    r"|\d+:signal-handler .* Received SIG\w+ scheduling shutdown"
)
SOCKETS = re.compile(r"INFO:\s+(?:\S+ - \"WebSocket \S+\" \[accepted\]|connection (?:open|closed))$")
OWN = re.compile(r"^[\d-]+ [\d:,]+ (?P<level>[A-Z]+) (?P<text>.*)$")
OWN_HABITS = ("received SIG", "stopped: ")  # one that ends unasked is "exited"
CHUNK = 65536


class Console:
    """Follows files named after their part; survives their rotation."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tails: dict[str, _Tail] = {}
        self._colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._begin = time.monotonic()

    def follow(self, *parts: str) -> None:
        """From now on show what these parts write; what was there before is not shown again."""
        for part in parts:
            self._tails[part] = _Tail(self._folder / f"{part}.log")

    def pump(self) -> None:
        """Show what is new in every file."""
        for part, tail in self._tails.items():
            for line in tail.lines():
                text = FILTERS.get(part, str)(line)
                if text and not STOPPING.match(text):
                    self._write(part, text if self._colour else ANSI.sub("", text))

    def close(self) -> None:
        """Let go of the files."""
        for tail in self._tails.values():
            tail.close()
        self._tails.clear()

    def say(self, text: str) -> None:
        """A line of the supervisor itself, with the seconds since it began."""
        self._write("run", f"[{time.monotonic() - self._begin:5.1f} s] {text}")

    def plain(self, text: str = "") -> None:
        """A line without prefix, for the announcement."""
        self._out(text)

    def _write(self, part: str, text: str) -> None:
        prefix = f"{part:<{WIDTH}} |"
        if self._colour:
            prefix = f"\x1b[{COLOURS.get(part, 1)}m{prefix}\x1b[0m"
        self._out(f"{prefix} {text}")

    @staticmethod
    def _out(text: str) -> None:
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except OSError:
            # nobody reads any more (a closed terminal or pipe): going on is right, stopping comes by signal
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


class _Tail:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._file = self._opened()
        if self._file:
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def lines(self) -> list[str]:
        self._file = self._file or self._opened()
        found = self._read()
        if self._file and self._rotated(self._file):
            found += self._read()
            self._file.close()
            self._file = self._opened()
            found += self._read()
        return found

    def _read(self) -> list[str]:
        if not self._file:
            return []
        *whole, self._rest = (self._rest + self._file.read(CHUNK)).split(b"\n")
        return [line.decode("utf-8", errors="replace").rstrip() for line in whole if line.strip()]

    def _opened(self) -> BufferedReader | None:
        return self._path.open("rb") if self._path.exists() else None

    def _rotated(self, file: BufferedReader) -> bool:
        try:
            return self._path.stat().st_ino != os.fstat(file.fileno()).st_ino
        except FileNotFoundError:
            return False


def _own(line: str) -> str:
    """The supervisor's own log: restarts and what went wrong, not its daily business."""
    match = OWN.match(line)
    if not match or match["level"] not in {"WARN", "ERRO"} or match["text"].startswith(OWN_HABITS):
        return ""
    return match["text"]


def _web(line: str) -> str:
    """Without a line for each socket that a page opens and closes."""
    return "" if SOCKETS.match(ANSI.sub("", line)) else line


def _redis(line: str) -> str:
    """Without pid and date, and without what it says at every start."""
    match = REDIS.match(line)
    text = match["text"] if match else line
    return "" if text.startswith(REDIS_HABITS) else text


FILTERS: dict[str, Callable[[str], str]] = {"run": _own, "redis": _redis, "web": _web}
