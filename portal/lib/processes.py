"""Names a process so surely that it may be signalled: by pid, start time and executable.

A pid alone is reused by the kernel. Source: proc(5), fields 22 (starttime, clock ticks since boot)
of /proc/PID/stat and the link /proc/PID/exe.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from portal.lib.types import JSONDict

PROC = Path("/proc")
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """What is written down when a process is started."""

    pid: int
    started: int  # clock ticks since boot
    executable: str  # resolved path of the running file
    environment: str = ""  # one NAME=value that must be in its environment, e.g. SLURM_CONF=...

    def to_json(self) -> JSONDict:
        """A plain dict for a state file."""
        return asdict(self)


def _stat_fields(pid: int) -> list[str]:
    # the second field, the command in brackets, may hold blanks and brackets itself
    return (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()


def parent_of(pid: int) -> int:
    """The parent's pid. Raises OSError when the process is gone."""
    return int(_stat_fields(pid)[1])


def session_of(pid: int) -> int:
    """The pid of the process that leads the session. Raises OSError when the process is gone."""
    return int(_stat_fields(pid)[3])


def record(pid: int, *, environment: str = "") -> ProcessRecord:
    """Describe a running process. Raises OSError when it is gone."""
    fields = _stat_fields(pid)
    return ProcessRecord(
        pid=pid,
        started=int(fields[19]),
        executable=str((PROC / str(pid) / "exe").readlink()),
        environment=environment,
    )


def is_running(known: ProcessRecord) -> bool:
    """True only if the very process that was recorded still runs (a zombie does not)."""
    try:
        fields = _stat_fields(known.pid)
        if fields[0] == "Z" or int(fields[19]) != known.started:
            return False
        if str((PROC / str(known.pid) / "exe").readlink()) != known.executable:
            return False
        if known.environment:
            environ = (PROC / str(known.pid) / "environ").read_bytes().split(b"\0")
            return known.environment.encode() in environ
    except OSError:
        return False
    return True


def send_signal(known: ProcessRecord, number: signal.Signals) -> bool:
    """Signal the recorded process; False when it is gone or another one now. Uses a pidfd: no race."""
    try:
        handle = os.pidfd_open(known.pid)
    except OSError:
        return False
    try:
        if not is_running(known):
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def all_pids() -> Iterator[int]:
    """Every process of this machine at about this moment."""
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with. Raises OSError when it is gone or not ours to see."""
    pairs = (PROC / str(pid) / "environ").read_bytes().decode(errors="replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def real_ids(pid: int) -> tuple[int, int]:
    """Real uid and gid of a process. Raises OSError when it is gone."""
    ids: dict[str, int] = {}
    for line in (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, values = line.partition(":")
        if key in {"Uid", "Gid"}:
            ids[key] = int(values.split()[0])
    return ids["Uid"], ids["Gid"]


def descendants(roots: Iterable[int]) -> list[int]:
    """The given processes and all that run below them, parents first."""
    below: dict[int, list[int]] = {}
    for pid in all_pids():
        with suppress(OSError):
            below.setdefault(parent_of(pid), []).append(pid)
    found: dict[int, None] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop(0)
        if pid not in found:
            found[pid] = None
            waiting += below.get(pid, [])
    return list(found)


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel to send us this signal when our parent ends, however it ends. See prctl(2)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(number))
