"""The console of clusters on this machine: Slurm's client tools, with a token and as nobody."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from clusters.clients.slurm_console import commands
from clusters.clients.slurm_console.console import LONGEST_WORDS, NoTools, error_of
from clusters.clients.slurm_console.tools import ToolsConsole
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.tokens import check_account

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
NOBODY: Final = 65534
CONF: Final = """\
ClusterName={cluster}
SlurmctldHost=localhost({host})
SlurmctldPort={port}
AuthType=auth/munge
AuthAltTypes=auth/jwt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
MessageTimeout={timeout}
"""


@dataclass(frozen=True, slots=True)
class Controller:
    """Where a slurmctld listens, and the name of its cluster."""

    cluster: str
    host: str
    port: int

    def __post_init__(self) -> None:
        fine = re.fullmatch(r"[a-z][a-z0-9-]{0,39}", self.cluster) and re.fullmatch(
            r"[0-9.]{7,15}", self.host
        )
        if not fine or not 0 < self.port < 65536:
            raise ValueError("A controller has a plain name, an IPv4 address and a port.")


class LocalConsole(ToolsConsole):
    """See SlurmConsole. The tools get their configuration, a token, and nothing else of our environment.

    They speak to what tenants filled, so a process that is root has them run as nobody.
    """

    def __init__(
        self,
        controller: Controller,
        account: str,
        token: Callable[[], str],
        timeout: float = 10.0,
    ) -> None:
        check_account(account)
        self._controller = controller
        self._token = token
        self._timeout = timeout

    def _run(self, tool: list[str], take: Callable[[bytes], object]) -> None:
        with self._running(tool) as (process, said):
            assert process.stdout is not None  # noqa: S101  # it was asked for
            while part := process.stdout.read(commands.PART):
                take(part)
            code = process.wait()
            words = said.text()
            if said.timed_out:
                raise errors.Unclear("timed out")
            if code:
                raise error_of(words)

    @contextmanager
    def _running(self, command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], _Said]]:
        """A tool until the end of the block or the deadline, whatever comes first."""
        program = shutil.which(command[0], path=PATH)
        if program is None:
            raise NoTools
        is_root = os.geteuid() == 0
        # in memory: no file is left over, and who runs the tool needs no rights to a folder
        conf = os.memfd_create("slurm.conf")
        try:
            os.write(conf, self._configuration().encode())
            with subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(conf),
                cwd="/",
                pass_fds=(conf,),
                # what tenants wrote is no business of root's
                user=NOBODY if is_root else None,
                group=NOBODY if is_root else None,
                extra_groups=[] if is_root else None,
            ) as process:
                said = _Said(process, self._timeout)
                try:
                    yield process, said
                finally:
                    said.stop()
        except OSError as error:
            raise errors.NotReachable("Slurm's tools cannot be started.") from error
        finally:
            os.close(conf)

    def _configuration(self) -> str:
        at = self._controller
        timeout = max(2, int(self._timeout) - 1)
        return CONF.format(cluster=at.cluster, host=at.host, port=at.port, timeout=timeout)

    def _environment(self, conf: int) -> dict[str, str]:
        return {
            "PATH": PATH,
            **commands.ENVIRONMENT,
            "SLURM_CONF": f"/proc/self/fd/{conf}",
            "SLURM_JWT": self._token(),
        }


class _Said:
    """Listens to the error stream of a process, and ends it at its deadline."""

    def __init__(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        self._process = process
        self._words = b""
        self.timed_out = False
        self._until = time.monotonic() + timeout
        self._timer = threading.Timer(timeout, self._end)
        self._timer.daemon = True
        self._timer.start()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def text(self) -> str:
        self._reader.join(max(0.1, self._until - time.monotonic()))
        return self._words.decode("utf-8", "replace")

    def stop(self) -> None:
        """Whatever happened, nothing of it goes on."""
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join(1)

    def _end(self) -> None:
        self.timed_out = True
        self._process.kill()

    def _listen(self) -> None:
        assert self._process.stderr is not None  # noqa: S101  # it was asked for
        while part := self._process.stderr.read(4096):
            if len(self._words) < LONGEST_WORDS:
                self._words += part
