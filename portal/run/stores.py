"""The private PostgreSQL and Redis of one data folder: first files, stale locks, and whether they answer."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from portal.run import parts, records
from portal.run.layout import USER, CannotRun, Layout
from portal.run.parts import Part
from portal.run.supervisor import privileges


def initialise(layout: Layout) -> None:
    """Make the database cluster on the first run. Everyone who gets into the 0700 folder is trusted."""
    if (layout.postgres / "PG_VERSION").exists():
        return
    initdb = str(parts.postgres_tools(layout) / "initdb")
    command = [initdb, "-D", str(layout.postgres), "-U", USER, "--auth=trust", "--no-instructions"]
    command += ["--encoding=UTF8", "--locale=C.UTF-8"]
    words = [*privileges(Part("initdb", (), "postgres")), *command]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd="/", env={"LANG": "C.UTF-8"}
    )
    if done.returncode:
        raise CannotRun(f"initdb failed: {done.stderr.strip()}")


def clear_stale_lock(layout: Layout) -> None:
    """Remove postmaster.pid when no process of this folder runs: its pid may be another program's by now."""
    if not records.of_folder(layout, slurm=False):
        (layout.postgres / "postmaster.pid").unlink(missing_ok=True)


def answer(layout: Layout) -> bool:
    """True when both accept commands."""
    return _redis_answers(layout.redis_socket) and _postgres_answers(layout)


def _postgres_answers(layout: Layout) -> bool:
    probe = [str(parts.postgres_tools(layout) / "pg_isready"), "-q", "-U", USER, "-d", "postgres"]
    probe += ["-h", str(layout.postgres_sockets)]
    return subprocess.run(probe, check=False).returncode == 0


def _redis_answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(path))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False
