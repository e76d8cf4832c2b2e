"""Ends an exchange that takes too long in all, however often something of it comes."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import socket
import threading
import time


class Deadline:
    """Shuts a connection down when the time is up; holds until it is lifted.

    The timeouts of a socket count from byte to byte, so a slow sender could hold a worker for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.passed = False
        self.is_over = False
        self._guarded: socket.socket | None = None
        self._lock = threading.Lock()
        _watch.add(self)

    def guard(self, connection: socket.socket) -> None:
        """Watch this connection, in the place of the one before."""
        with self._lock:
            self._guarded = connection
            if self.passed:
                self._shut()

    def end(self) -> None:
        """The time is up."""
        with self._lock:
            if not self.is_over:
                self.passed = True
                self._shut()

    def _shut(self) -> None:
        if self._guarded is not None:
            with contextlib.suppress(OSError):
                self._guarded.shutdown(socket.SHUT_RDWR)

    def lift(self) -> None:
        """It was in time, or no matter any more; whether it had `passed` is settled from now on."""
        with self._lock:
            self.is_over = True
            self._guarded = None


class _Watch:
    """Ends what takes too long: one thread for all, as a thread for each costs a tenth of a submit."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # threads do not come along

    def _begin(self) -> None:
        self._due: list[tuple[float, int, Deadline]] = []
        self._numbers = itertools.count()  # deadlines of one moment cannot be compared
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        """Watch over it until it is over."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            heapq.heappush(self._due, (deadline.ends, next(self._numbers), deadline))
            if self._due[0][2] is deadline:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            self._next().end()

    def _next(self) -> Deadline:
        """Wait until one has passed."""
        with self._changed:
            while True:
                if not self._due:
                    self._changed.wait()
                elif self._due[0][2].is_over:
                    heapq.heappop(self._due)
                elif (rest := self._due[0][0] - time.monotonic()) > 0:
                    self._changed.wait(rest)
                else:
                    return heapq.heappop(self._due)[2]


_watch = _Watch()
