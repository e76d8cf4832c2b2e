"""Asks the child process for queue and nodes, within a deadline, and starts it again after it ended."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.dialects import dialect_for
from clusters.clients.slurmrest.models import JobList, NodeRecord
from clusters.clients.slurmrest.wire import decode
from portal.lib.http import MEBIBYTE, Answer

CHILD: Final = Path(__file__).with_name("child.py")
LONGEST: Final = 512 * MEBIBYTE  # of one answer


class _Trouble(msgspec.Struct):
    trouble: str = ""


class PyslurmGateway:
    """The jobs and nodes of a SlurmGateway, of the one cluster that a slurm.conf names. Safe to share.

    pyslurm's release must be that of the cluster's libslurm, and SLURM_CONF and Slurm's key must be
    readable here. Raises NotReachable and BadAnswer of clusters.clients.slurmrest.errors.
    """

    def __init__(
        self, conf: Path, *, timeout: float = 20.0, environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = {"PATH": os.defpath, **(environment or {}), "SLURM_CONF": str(conf)}
        self._timeout = timeout
        self._dialect = dialect_for("v0.0.38")
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None

    def jobs(self) -> JobList:
        """All jobs: always the full list, for pyslurm cannot ask what changed."""
        return self._dialect.jobs(self._ask("jobs"))

    def nodes(self) -> tuple[NodeRecord, ...]:
        """All nodes."""
        return self._dialect.nodes(self._ask("nodes"))

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _ask(self, what: str) -> Answer:
        began = time.monotonic()
        with self._lock:
            body = self._exchange(what, began + self._timeout)
        if trouble := decode(body, _Trouble).trouble:
            raise errors.NotReachable(f"Slurm did not answer pyslurm: {errors.clean(trouble)}")
        return Answer(200, "application/json", body, time.monotonic() - began)

    def _exchange(self, what: str, end: float) -> bytes:
        child = self._started()
        assert child.stdin is not None and child.stdout is not None  # noqa: S101  # for the type checker
        try:
            child.stdin.write(f"{what}\n".encode())
            child.stdin.flush()
            return self._line(child.stdout, end)
        except OSError as error:
            raise self._ended() from error

    def _line(self, output: IO[bytes], end: float) -> bytes:
        parts: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while not parts or not parts[-1].endswith(b"\n"):
                if not selector.select(max(0.0, end - time.monotonic())):
                    self._end()  # an answer that comes later would be taken for the next one's
                    raise errors.NotReachable("Slurm did not answer pyslurm in time.")
                part = os.read(output.fileno(), MEBIBYTE)
                if not part or sum(map(len, parts)) > LONGEST:
                    raise self._ended()
                parts.append(part)
        return b"".join(parts)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._words = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the child
            self._child = subprocess.Popen(
                [sys.executable, "-P", str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env=self._environment,
            )
        return self._child

    def _ended(self) -> errors.BadAnswer:
        """What to raise when the child is gone; its last words are for the log."""
        words = b""
        if self._words is not None:
            self._words.seek(0)
            words = self._words.read()[-180:]
        self._end()
        return errors.BadAnswer(
            "pyslurm ended. Its release must be that of the cluster's Slurm, and slurm.conf readable.",
            errors.extract(words),
        )

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            for pipe in (child.stdin, child.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            child.wait()
        words, self._words = self._words, None
        if words is not None:
            words.close()
