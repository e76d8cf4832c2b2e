"""The console of clusters on Kubernetes: Slurm's client tools in a login pod, as the account's own uid.

Inside the pod the kernel's word for who runs a program is what Slurm believes: its sackd signs for the uid
at the other end of a socket. So no token goes there at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from clusters.clients.kube.errors import NotReachable as KubeNotReachable
from clusters.clients.kube.running import Ended, NotRun, Unfinished
from clusters.clients.slurm_console import commands
from clusters.clients.slurm_console.console import error_of
from clusters.clients.slurm_console.tools import ToolsConsole
from clusters.clients.slurmrest import errors
from portal.lib.errors import PermanentError

LOWEST_ID: Final = 1000  # root, SlurmUser and the system's own are below
NOBODY: Final = 65534
NO_PROGRAM: Final = frozenset({126, 127})  # of setpriv and env: what they were to start cannot be started
ENDED_BY_TIMEOUT: Final = frozenset({124, 137})
MARGIN: Final = 1.0  # seconds by which the program ends before nobody listens any more
SHORTEST: Final = 1.0


class Runner(Protocol):
    """Runs a program in the pod; see clusters.clients.kube.running.run."""

    def __call__(self, command: Sequence[str], *, timeout: float, take: Callable[[bytes], object]) -> Ended:
        """To its end."""


class NoPodTools(PermanentError):
    """The image of the login pods lacks a program."""

    def __init__(self) -> None:
        super().__init__(
            "NoSlurmTools",
            "The cluster's login pods lack a program that the console needs.",
            hint="Their image needs Slurm's client programs, setpriv, env and timeout.",
        )


class PodConsole(ToolsConsole):
    """See SlurmConsole."""

    def __init__(self, run: Runner, uid: int, gid: int, timeout: float = 10.0) -> None:
        if any(number < LOWEST_ID or number == NOBODY for number in (uid, gid)):
            raise ValueError("An account's uid and gid are never the system's.")
        self._start = run
        self._uid, self._gid = uid, gid
        self._timeout = timeout

    def _run(self, tool: list[str], take: Callable[[bytes], object]) -> None:
        try:
            ended = self._start(self._command(tool), timeout=self._timeout, take=take)
        except KubeNotReachable as error:
            raise errors.NotReachable("The cluster's API server does not answer.") from error
        except NotRun as error:
            raise NoPodTools if error.missing else errors.NotReachable(error.message) from error
        except Unfinished as error:
            raise errors.Unclear(error.message) from error
        if ended.code:
            raise _error_of(ended)

    def _command(self, tool: Sequence[str]) -> list[str]:
        """As the account and nobody else, and never longer than somebody listens."""
        seconds = max(self._timeout - MARGIN, SHORTEST)
        return [
            *("timeout", "--kill-after=1", f"{seconds:g}"),
            *("setpriv", f"--reuid={self._uid}", f"--regid={self._gid}", "--clear-groups"),
            *("--no-new-privs", "--inh-caps=-all"),
            *("env", *(f"{name}={value}" for name, value in commands.ENVIRONMENT.items())),
            *tool,
        ]


def _error_of(ended: Ended) -> Exception:
    if ended.code in NO_PROGRAM:
        return NoPodTools()
    if ended.code in ENDED_BY_TIMEOUT:
        return errors.Unclear("timed out")
    return error_of(ended.words)
