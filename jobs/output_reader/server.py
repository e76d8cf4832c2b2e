"""The root process: takes a request, looks the file up, and lets a child of the job's user answer.

One thread, because it forks. What a child can do is little: it has the open connection and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import selectors
import signal
import socket
import stat
import struct
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import structlog

from jobs.output_reader import child
from jobs.output_reader.protocol import LONGEST_REQUEST, Header, Request, State, Target

Lookup: TypeAlias = Callable[[Request], Target | None]

REQUEST_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 10.0
PAUSE: Final = 0.5  # between looks for children that ended, when nothing else happens
MOST_CHILDREN: Final = 32
MOST_PER_UID: Final = 8  # one user's hanging file system does not stop the others

log = structlog.get_logger("jobs.output_reader")


class OutputReader:
    """Serves until `stop` is called. The socket is for root and one group; others are turned away twice."""

    def __init__(self, path: Path, lookup: Lookup, *, portal_user: str | None) -> None:
        self._path = path
        self._lookup = lookup
        self._portal = pwd.getpwnam(portal_user) if portal_user else None
        self._allowed = {0} | ({self._portal.pw_uid} if self._portal else set())
        self._children: dict[int, tuple[int, float]] = {}
        self._stopped = False

    def stop(self) -> None:
        """End after the present request."""
        self._stopped = True

    def serve(self) -> None:
        """Listen. Raises OSError where the socket cannot be made."""
        with self._listen() as listener, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while not self._stopped:
                ready = selector.select(PAUSE)
                self._reap()
                if ready:
                    with contextlib.suppress(OSError):
                        connection, _ = listener.accept()
                        self._answer(connection)
            self._reap(kill=True)
        self._path.unlink(missing_ok=True)

    def _listen(self) -> socket.socket:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(self._path.lstat().st_mode):
                self._path.unlink()
        listener = socket.socket(socket.AF_UNIX)
        group, mask = os.getegid(), os.umask(0o117)
        try:
            # born with its group and mode: a chown by path could be led elsewhere by a link
            os.setegid(self._portal.pw_gid if self._portal else group)
            listener.bind(str(self._path))
        finally:
            os.setegid(group)
            os.umask(mask)
        listener.listen(64)
        listener.setblocking(False)
        return listener

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            if _peer_uid(connection) not in self._allowed:
                log.warning("output_reader.stranger", uid=_peer_uid(connection))
                return
            request = _receive(connection)
            if request is None:
                _say(connection, "failed")
                return
            target = self._find(request)
            if isinstance(target, Target):
                self._fork(connection, target, request)
            else:
                _say(connection, target)

    def _find(self, request: Request) -> Target | State:
        """Where to read, or the state that says why not."""
        try:
            target = self._lookup(request)
        except Exception:  # whatever the database says, the next request is served
            log.exception("output_reader.lookup_failed", job=str(request.job))
            return "failed"
        if target is None or not child.is_ours(target):
            return "unknown"
        if not target.path:
            return "same" if request.stream == "stderr" else "missing"
        busy = Counter(uid for uid, _ in self._children.values())
        if len(self._children) >= MOST_CHILDREN or busy[target.uid] >= MOST_PER_UID:
            return "busy"
        return target

    def _fork(self, connection: socket.socket, target: Target, request: Request) -> None:
        pid = os.fork()
        if pid:
            self._children[pid] = (target.uid, time.monotonic() + ANSWER_SECONDS)
            return
        try:
            _close_all_but(connection.fileno())
            child.become(target)
            if request.find:
                header, data = child.find(target.path, target.uid, request.start, request.find)
            else:
                header, data = child.read(target.path, target.uid, request.start)
            connection.settimeout(child.SECONDS)
            connection.sendall(msgspec.json.encode(header) + b"\n" + data)
        finally:
            os._exit(0)  # nothing of the parent's is run or flushed here, not even after an error

    def _reap(self, *, kill: bool = False) -> None:
        """Forget children that ended; end those that hang."""
        for pid, (uid, until) in list(self._children.items()):
            if kill or time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still this child's
            if os.waitpid(pid, 0 if kill else os.WNOHANG)[0]:
                del self._children[pid]
                continue
            if time.monotonic() > until + ANSWER_SECONDS:
                log.error("output_reader.child_hangs", pid=pid, uid=uid)


def _close_all_but(kept: int) -> None:
    for handle in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), handle)
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def _peer_uid(connection: socket.socket) -> int:
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])


def _receive(connection: socket.socket) -> Request | None:
    """One line within a second; None for anything else."""
    until = time.monotonic() + REQUEST_SECONDS
    line = b""
    try:
        while not line.endswith(b"\n"):
            connection.settimeout(max(0.01, until - time.monotonic()))
            part = connection.recv(LONGEST_REQUEST)
            line += part
            if not part or len(line) > LONGEST_REQUEST or time.monotonic() > until:
                return None
        return msgspec.json.decode(line, type=Request)
    except (OSError, msgspec.DecodeError):
        return None


def _say(connection: socket.socket, state: State) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(msgspec.json.encode(Header(state=state)) + b"\n")
