"""The processes of `make run` on a data folder of their own, for tests to look at and to kill."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from portal.lib import processes
from tests.e2e.waiting import answers, free_port, until
from tests.fixtures.servers import die_with_parent

ROOT = Path(__file__).resolve().parents[2]
PARENT = Path("/var/lib/freehold")
START_SECONDS = 240.0
STOP_SECONDS = 120.0


class Portal:
    """One portal under its supervisor."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.web_port = free_port()
        self.oidc_port = free_port()
        self.url = f"http://127.0.0.1:{self.web_port}"
        self.issuer = f"http://127.0.0.1:{self.oidc_port}"
        self._ports, self._claim = _claim_ports()
        self._child: subprocess.Popen[bytes] | None = None
        self._said = PARENT / f"{data.name}.out"

    # --- start and stop ---------------------------------------------------------------------------
    def start(self) -> None:
        """Start the supervisor and wait until it announces that the portal is ready."""
        PARENT.mkdir(mode=0o755, exist_ok=True)
        self.announcement.unlink(missing_ok=True)  # of a run that was killed
        with self._said.open("ab") as output:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "portal.run"],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),  # noqa: PLW1509  (no threads run yet)
            )
        child = self._child
        until(
            lambda: child.poll() is not None or self.announcement.exists(),
            f"the portal is ready\n{self.said()}",
            seconds=START_SECONDS,
        )
        assert child.poll() is None, self.said()

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """End it as Ctrl-C does and return the exit code."""
        assert self._child is not None
        if self._child.poll() is None:
            self._child.send_signal(number)
        return self._child.wait(timeout=STOP_SECONDS)

    def clean(self) -> None:
        """`make clean`."""
        command = [sys.executable, "-m", "portal.run", "clean"]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self._said.unlink(missing_ok=True)
        self._claim.close()

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "FREEHOLD_DATA": str(self.data),
            "FREEHOLD_WEB_PORT": str(self.web_port),
            "FREEHOLD_OIDC_PORT": str(self.oidc_port),
            "FREEHOLD_LOCAL_PORTS": self._ports,
        }

    # --- look -------------------------------------------------------------------------------------
    @property
    def announcement(self) -> Path:
        """Written when the portal is ready."""
        return self.data / "state" / "run.json"

    def said(self) -> str:
        """The last lines of the supervisor and its parts."""
        return self._said.read_text(errors="replace")[-12000:] if self._said.exists() else ""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the portal's own database."""
        sockets = self.data / "pg" / "sock"
        with psycopg.connect(host=str(sockets), user="freehold", dbname="freehold") as connection:
            return connection.execute(query.encode(), values).fetchall()

    def value(self, query: str, *values: object) -> Any:
        """The first column of the only row; None without one."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    def environment_of(self, part: str) -> dict[str, str]:
        """The variables with which a part runs, for a test's own helper; without the supervisor's mark."""
        pairs = (item.decode().partition("=") for item in _variables(self.pid_of(part) or 0) if b"=" in item)
        return {name: value for name, _, value in pairs if name != "FREEHOLD_SUPERVISED"}

    def pid_of(self, part: str) -> int | None:
        """The part's process now: the supervisor's own child, found by the variable that it is given.

        Where a program writes a title over its variables, its folder tells. Orphans of a killed part have
        another parent.
        """
        wanted = {f"FREEHOLD_SUPERVISED={self.data}".encode(), f"FREEHOLD_PART={part}".encode()}
        store = {"postgres": self.data / "pg" / "data", "redis": self.data / "redis"}.get(part)
        for pid in processes.all_pids():
            mine = _folder(pid) == str(store) if store else wanted <= _variables(pid)
            if mine and "supervisor.supervisord" in _command(_parent(pid)):
                return pid
        return None

    def kill(self, part: str) -> int:
        """SIGKILL a part; returns the pid that it had."""
        pid = self.pid_of(part)
        assert pid is not None, f"{part} does not run\n{self.said()}"
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_for_new(self, part: str, old: int) -> int:
        """The pid of the part that the supervisor started in the old one's place."""
        return (
            until(
                lambda: pid if (pid := self.pid_of(part)) not in {None, old} else None,
                f"{part} is started again",
                seconds=120,
            )
            or 0
        )

    def processes(self) -> list[str]:
        """Every process that names the data folder in its environment, command, folder or program."""
        return [f"{pid} {_command(pid)}" for pid in processes.all_pids() if self._owns(pid)]

    def daemons(self, program: str) -> list[int]:
        """Slurm's daemons of this portal by program name, e.g. slurmctld."""
        clusters = f"SLURM_CONF={self.data}/clusters/".encode()
        return [
            pid
            for pid in processes.all_pids()
            if any(item.startswith(clusters) for item in _variables(pid))
            and Path(_command(pid).split(" ")[0]).name == program
        ]

    def names(self, pid: int, cluster: str) -> bool:
        """Whether a process belongs to the cluster of this external name."""
        return any(f"/clusters/{cluster}/".encode() in item for item in _variables(pid))

    def leftovers(self) -> list[str]:
        """Processes, mounts, ports, unix users and groups that should have ended with the portal."""
        mine = str(self.data)
        found = self.processes()
        found += [line for line in Path("/proc/mounts").read_text().splitlines() if mine in line]
        found += [f"port {port}" for port in (self.web_port, self.oidc_port) if answers(port)]
        return found

    def accounts(self) -> list[str]:
        """Lines of the machine's user and group lists that name this data folder."""
        return [line for line in Path("/etc/passwd").read_text().splitlines() if str(self.data) in line]

    def _owns(self, pid: int) -> bool:
        if pid == os.getpid():
            return False
        mine = str(self.data)
        return (
            mine in _command(pid)
            or mine in _folder(pid)
            or any(mine.encode() in item for item in _variables(pid))
        )


def _claim_ports() -> tuple[str, socket.socket]:
    """A range of ports for clusters that no other test portal uses; the kernel ends the claim with us."""
    for first in range(10_000, 21_000, 1_000):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0freehold-test-ports-{first}")
        except OSError:
            claim.close()
            continue
        return f"{first}-{first + 999}", claim
    raise AssertionError("Eleven test portals run already.")


def _parent(pid: int) -> int:
    try:
        return processes.parent_of(pid)
    except OSError:
        return 0


def _variables(pid: int) -> set[bytes]:
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()


def _command(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return text.replace(b"\0", b" ").decode(errors="replace").strip()


def _folder(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


@contextmanager
def running() -> Iterator[Portal]:
    """A portal for a test session. At the end nothing of it may be left on the machine."""
    portal = Portal(PARENT / f"test-{secrets.token_hex(4)}")
    try:
        portal.start()
        yield portal
    finally:
        code = portal.stop()
        left = portal.leftovers()
        portal.clean()
    assert code == 0
    assert left == []
    assert portal.accounts() == []
    assert not portal.data.exists()
