"""Turns this machine's own trouble, such as a full disk, into an error that the engine knows."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from portal.lib.errors import TemporaryError

P = ParamSpec("P")
R = TypeVar("R")


def guarded(verb: Callable[P, R]) -> Callable[P, R]:
    """A step's verb that raises TemporaryError LocalMachine where it would raise an error of the system."""

    @functools.wraps(verb)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except OSError as error:
            cause = os.strerror(error.errno) if error.errno else type(error).__name__
            raise TemporaryError(
                "LocalMachine",
                f"This machine refused something: {cause}.",
                hint="Look at its disk and limits.",
            ) from error
        except subprocess.SubprocessError as error:
            raise TemporaryError("LocalMachine", "A program of this machine failed or hung.") from error

    return wrapper
