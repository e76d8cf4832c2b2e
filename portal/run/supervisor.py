"""Drives supervisord (Supervisor): restarts with back-off, order at the stop, log files with a bound.

Circus was looked at first: it stops all its watchers at once, restarts without back-off, opens two
control sockets, and reaps the children of its whole process, so a subprocess's exit code is lost.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import xmlrpc.client
from collections.abc import Mapping

from supervisor.xmlrpc import SupervisorTransport

from portal.run.layout import USER, Layout
from portal.run.parts import PYTHON, Part, extra_environment

FIRST = ("web", "oidc")
PRIORITY = {"postgres": 1, "redis": 2, "portal": 3}  # the highest stops first


class Supervisor:
    """One supervisord in the foreground of a session of its own."""

    def __init__(self, layout: Layout, parts: list[Part]) -> None:
        self._layout = layout
        self._parts = parts
        self._socket = layout.supervisor / "control.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start supervisord and, by it, PostgreSQL and Redis."""
        settings = self._layout.supervisor / "supervisord.conf"
        settings.write_text(self._settings(), encoding="utf-8")
        command = [PYTHON, "-m", "supervisor.supervisord", "-n", "-c", str(settings)]
        with (self._layout.log / "supervisord.err").open("wb") as errors:
            self._process = subprocess.Popen(
                # were we killed, supervisord would still stop everything in order
                ["setpriv", "--pdeathsig", "TERM", "--", *command],
                env=dict(environment),
                cwd=self._layout.app,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def start_pages(self) -> None:
        """Start what a browser needs, alone on the processor."""
        for name in FIRST:
            self._call("startProcess", f"portal:{name}", False)

    def start_rest(self) -> None:
        """Start the other parts."""
        self._call("startProcessGroup", "portal", False)

    def pids(self) -> dict[str, int]:
        """Part to pid of what runs now; empty while supervisord is not up yet."""
        try:
            answer = self._call("getAllProcessInfo")
        except (OSError, xmlrpc.client.Error):
            return {}
        return {entry["name"]: entry["pid"] for entry in answer if entry["pid"]}  # type: ignore[attr-defined]

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def is_running(self) -> bool:
        """False when supervisord itself has ended."""
        return self._process is not None and self._process.poll() is None

    def ask_to_stop(self) -> None:
        """Begin the ordered stop: our parts, then Redis, then PostgreSQL."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def _call(self, method: str, *arguments: object) -> object:
        transport = SupervisorTransport(None, None, f"unix://{self._socket}")
        with xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport) as server:
            return getattr(server.supervisor, method)(*arguments)

    def _settings(self) -> str:
        lines = [
            "[unix_http_server]",
            f"file={_plain(self._socket)}",
            "chmod=0700",
            "[rpcinterface:supervisor]",
            "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
            "[supervisord]",
            f"logfile={_plain(self._layout.log / 'run.log')}",
            "logfile_maxbytes=1MB",
            "logfile_backups=1",
            f"pidfile={_plain(self._layout.supervisor / 'supervisord.pid')}",
            f"childlogdir={_plain(self._layout.log)}",
            "nodaemon=true",
            "silent=true",
            "nocleanup=true",
            "user=root",
            "umask=022",
        ]
        for group, priority in PRIORITY.items():
            members = [part for part in self._parts if part.group == group]
            lines += [f"[group:{group}]", f"programs={','.join(part.name for part in members)}"]
            lines.append(f"priority={priority}")
            for part in members:
                lines += self._program(part)
        return "\n".join(lines) + "\n"

    def _program(self, part: Part) -> list[str]:
        variables = ",".join(f'{name}="{value}"' for name, value in extra_environment(part).items())
        return [
            f"[program:{part.name}]",
            f"command={_plain(shlex.join([*privileges(part), *part.command]))}",
            f"environment={_plain(variables)}",
            f"directory={_plain(self._layout.app)}",
            f"autostart={str(part.group != 'portal').lower()}",
            f"autorestart={str(not part.once).lower()}",
            f"startsecs={0 if part.once else 2}",
            "startretries=1000000",
            f"stopsignal={part.stop_signal}",
            f"stopwaitsecs={part.stop_seconds}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile={_plain(self._layout.log / part.name)}.log",
            "stdout_logfile_maxbytes=10MB",
            "stdout_logfile_backups=1",
        ]


def privileges(part: Part) -> list[str]:
    """The words before a command that drop to the system user; the kernel ends orphans."""
    words = ["setpriv", "--pdeathsig", part.stop_signal]
    if not part.as_root:
        words += ["--reuid", USER, "--regid", USER, "--init-groups", "--no-new-privs"]
    return [*words, "--"]


def _plain(text: object) -> str:
    """Supervisor's file format reads % as the start of a name."""
    return str(text).replace("%", "%%")
