"""The private stores of a measurement."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fixtures import servers

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def stores(port: int) -> Iterator[dict[str, str]]:
    """A private PostgreSQL and Redis, and the variables of a portal that uses them."""
    folder = Path(tempfile.mkdtemp(prefix=servers.PREFIX))
    folder.chmod(0o711)
    running = servers.Servers(folder, worker="main")
    try:
        running.start()
        yield {
            **running.environment(),
            "FREEHOLD_MODE": "demo",  # as people run it: with a pool of connections, which tests do without
            "DATABASE_URL": f"postgresql://freehold@/freehold?host={running.postgres_socket_folder}",
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "STATIC_ROOT": str(folder / "static"),
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            "LOG_LEVEL": "WARNING",
        }
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


def make_database(environment: dict[str, str]) -> None:
    """The database, its tables and the static files."""
    host = environment["DATABASE_URL"].rpartition("host=")[2]
    subprocess.run(
        [str(servers.postgres_tools() / "createdb"), "-h", host, "-U", "freehold", "freehold"], check=True
    )
    for command in (["migrate"], ["collectstatic", "--noinput"]):
        words = [sys.executable, "manage.py", *command, "--verbosity", "0"]
        subprocess.run(words, cwd=ROOT, env={**os.environ, **environment}, check=True)
