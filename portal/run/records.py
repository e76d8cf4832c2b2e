"""Knows every process of a data folder, so that none is left behind and no other one is signalled."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from portal.lib import processes
from portal.lib.processes import ProcessRecord
from portal.run.layout import Layout, write_private
from portal.run.parts import MARK

PATIENCE = 10.0  # seconds between the polite signal and SIGKILL


class Records:
    """The note of what was started; it outlives a crash of the supervisor."""

    def __init__(self, layout: Layout) -> None:
        self._note = layout.supervisor / "processes.json"
        self._known: dict[int, ProcessRecord] = {}

    def update(self, pids: Iterable[int]) -> None:
        """Write down these processes; those that are gone are forgotten."""
        fresh: dict[int, ProcessRecord] = {}
        for pid in pids:
            try:
                fresh[pid] = processes.record(pid)
            except OSError:
                continue  # ended meanwhile
        if fresh != self._known:
            self._known = fresh
            text = json.dumps([record.to_json() for record in fresh.values()])
            write_private(self._note, text)

    def load(self) -> list[ProcessRecord]:
        """What the last supervisor wrote down, still running or not."""
        try:
            return [ProcessRecord(**entry) for entry in json.loads(self._note.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError):
            return []

    def forget(self) -> None:
        """Called when everything ended in good order."""
        self._known = {}
        self._note.unlink(missing_ok=True)


def of_folder(layout: Layout, *, slurm: bool) -> list[ProcessRecord]:
    """Processes that carry our mark or work in our folder; Slurm's daemons and job steps only when asked.

    PostgreSQL and Redis overwrite their environment with a title, so their working folder is looked at too.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            if _belongs(entry, layout, slurm=slurm):
                found.append(processes.record(int(entry.name)))
        except OSError:
            continue  # ended meanwhile, or a thread of the kernel
    return found


def end(known: Iterable[ProcessRecord], *, waiting: Callable[[], None] = lambda: None) -> int:
    """End these very processes: SIGTERM, a while later SIGKILL. Returns how many there were."""
    running = [record for record in set(known) if processes.is_running(record)]
    total = len(running)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for record in running:
            processes.send_signal(record, number)
        limit = time.monotonic() + PATIENCE
        while running and time.monotonic() < limit:
            waiting()
            time.sleep(0.05)
            running = [record for record in running if processes.is_running(record)]
    return total


def _belongs(entry: Path, layout: Layout, *, slurm: bool) -> bool:
    variables = (entry / "environ").read_bytes().split(b"\0")
    clusters = str(layout.data / "clusters")
    is_slurm = any(item.startswith(f"SLURM_CONF={clusters}/".encode()) for item in variables)
    where = str((entry / "cwd").readlink())
    if is_slurm or f"{where}/".startswith(f"{clusters}/"):
        return slurm
    if f"{MARK}={layout.data}".encode() in variables:
        return True
    return where in {str(layout.postgres), str(layout.redis)}
