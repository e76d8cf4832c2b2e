"""What the figures were measured on."""

from __future__ import annotations

import datetime as dt
import os
import platform
from pathlib import Path

import django


def describe() -> str:
    """Day, cores, model, memory, versions and load in one line."""
    model = _first_value(Path("/proc/cpuinfo"), "model name")
    memory = int(_first_value(Path("/proc/meminfo"), "MemTotal").split()[0]) // 1024**2
    today = dt.datetime.now(dt.UTC)
    return (
        f"Measured on {today:%d %B %Y}: {os.cpu_count()} cores ({model}), {memory} GiB, {platform.system()} "
        f"{platform.release()}, Python {platform.python_version()}, Django {django.get_version()}. "
        f"{load()} at the start."
    )


def load() -> str:
    """How much there is to do: with more than there are cores, everything waits."""
    return f"Load average {os.getloadavg()[0]:.1f}"


def _first_value(path: Path, name: str) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def memory_of(pid: int) -> float:
    """Proportional share of memory in MiB (shared pages are divided among those that use them)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def seconds_of(pid: int) -> float:
    """Seconds of processor time that a process has used; they hardly depend on what else the machine does."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def nanoseconds_of(pid: int) -> int:
    """Nanoseconds on a processor, exact for a process that waits at the moment."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
