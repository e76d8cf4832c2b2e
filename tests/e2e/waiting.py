"""Waits for conditions with a deadline, and finds free loopback ports."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(probe: Callable[[], T], what: str, *, seconds: float = 90.0, pause: float = 0.05) -> T:
    """The first truthy answer of the probe. Fails with `what` was waited for when the time is over."""
    end = time.monotonic() + seconds
    while True:
        if found := probe():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"Waited {seconds:g} s in vain: {what}.")
        time.sleep(pause)


def free_port() -> int:
    """A loopback port on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
