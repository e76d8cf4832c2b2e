"""One web process with a database of its own, for what needs a browser and no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.node_provider import Provider
from tests.e2e.waiting import answers, free_port, until
from tests.fixtures import servers

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class SmallPortal:
    """Where it listens, and the variables with which its commands run."""

    url: str
    environment: Mapping[str, str]

    def manage(self, *arguments: str) -> str:
        """Run a management command on its database; its output."""
        return _run([sys.executable, "manage.py", *arguments], self.environment)


def address() -> str:
    """A free address; the provider must know it before the portal starts."""
    return f"http://127.0.0.1:{free_port()}"


@contextmanager
def running(
    url: str,
    provider: Provider,
    stores: servers.Servers,
    folder: Path,
    *,
    operators: str = "",
    variables: Mapping[str, str] | None = None,
) -> Iterator[SmallPortal]:
    """Make the database, serve until the block ends, and remove the database. `variables` are set besides."""
    port = int(url.rpartition(":")[2])
    database = f"e2e_{port}"
    sockets = stores.postgres_socket_folder
    environment = {
        **os.environ,
        **stores.environment(),
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "DATABASE_URL": f"postgresql://freehold@/{database}?host={sockets}",
        "REDIS_PREFIX": database,
        "PUBLIC_URL": url,
        "ALLOWED_HOSTS": "127.0.0.1",
        "STATIC_ROOT": str(folder / "static"),
        "OIDC_ISSUER": provider.issuer,
        "OIDC_CLIENT_ID": provider.client_id,
        "OIDC_CLIENT_SECRET": provider.client_secret,
        "OPERATORS": operators,
        "AUTHLIB_INSECURE_TRANSPORT": "1",
        **(variables or {}),
    }
    stores.create_database(database, "--template", stores.template())
    portal = SmallPortal(url, environment)
    try:
        portal.manage("collectstatic", "--noinput", "--verbosity", "0")
        with _serving(port, environment, folder / "web.log"):
            yield portal
    finally:
        dropdb = [str(servers.postgres_tools() / "dropdb"), "-h", str(sockets), "-U", "freehold"]
        _run([*dropdb, "--force", database], environment)


@contextmanager
def _serving(port: int, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--lifespan", "off", "--timeout-graceful-shutdown", "1"]
    with log.open("wb") as output:
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        until(lambda: child.poll() is not None or answers(port), "the web process answers", seconds=120)
        assert child.poll() is None, log.read_text(errors="replace")[-3000:]
        yield
    finally:
        child.terminate()
        child.wait(timeout=60)


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done.stdout
