"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import django


def describe() -> str:
    """Cores, model, memory and versions in one line."""
    model = _first_value(Path("/proc/cpuinfo"), "model name")
    memory = int(_first_value(Path("/proc/meminfo"), "MemTotal").split()[0]) // 1024**2
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({model}), {memory} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, Django {django.get_version()}, load {load:.1f} at the start"
    )


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
