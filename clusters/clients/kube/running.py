"""Runs one program in a container through an API server, over a WebSocket as kubectl does.

Without input and terminal. The program and its arguments go as a list and never through a shell; there is
no way to give it an environment but by arguments, so no secret can be handed to it.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import quote, urlencode

import msgspec

from clusters.clients.kube.models import Access, Ref
from clusters.clients.kube.websocket import Broken, messages
from portal.lib.errors import TemporaryError

# An API server before 1.30 knows only the older one; they differ in how input ends, and we send none.
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
OUTPUT, ERRORS, STATUS = 1, 2, 3  # channels: the first byte of each message
MOST_WORDS: Final = 16 * 1024  # bytes of the error stream that are kept
MOST_STATUS: Final = 64 * 1024
EXIT_CODE: Final = "ExitCode"
Unfinished: TypeAlias = Broken  # the program may have run, and how it ended is not known


class NotRun(TemporaryError):
    """The program did not run: the node or the container's runtime says why. `missing`: there is none."""

    def __init__(self, message: str) -> None:
        super().__init__("ExecNotRun", f"The container did not run the program: {message}")
        self.missing = "not found" in message or "no such file" in message


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct):
    status: str = ""
    reason: str = ""
    message: str = ""
    details: _Details | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and the beginning of what it said on its error stream."""

    code: int
    words: str


def run(
    access: Access,
    tls: ssl.SSLContext,
    pod: Ref,
    container: str,
    command: Sequence[str],
    *,
    timeout: float,
    take: Callable[[bytes], object],
) -> Ended:
    """Run it to its end, within `timeout` seconds in all; `take` gets its output part by part.

    Raises NotReachable and the refusals of clients.kube.errors where nothing ran, NotRun, and Unfinished.
    What `take` raises ends the exchange.
    """
    words, status = bytearray(), bytearray()
    kept = {ERRORS: (words, MOST_WORDS), STATUS: (status, MOST_STATUS)}
    path = _path(pod, container, command)
    for message in messages(access, tls, path, protocols=PROTOCOLS, timeout=timeout):
        channel, part = (message[0], message[1:]) if message else (0, b"")
        if channel == OUTPUT and part:
            take(part)
        elif channel in kept:
            target, most = kept[channel]
            target += part[: most - len(target)]
    return _ended(bytes(status), words.decode("utf-8", "replace"))


def _path(pod: Ref, container: str, command: Sequence[str]) -> str:
    asked = [("container", container), ("stdout", "true"), ("stderr", "true")]
    query = urlencode([*asked, *(("command", word) for word in command)], quote_via=quote)
    return f"{pod.path}/exec?{query}"


def _ended(status: bytes, words: str) -> Ended:
    try:
        found = msgspec.json.decode(status, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unfinished("The connection was lost before the program ended.") from error
    if found.status == "Success":
        return Ended(0, words)
    for cause in (found.details.causes if found.details else None) or ():
        if cause.reason == EXIT_CODE and cause.message.isascii() and cause.message.isdigit():
            return Ended(int(cause.message), words)
    raise NotRun(" ".join(found.message.split())[:300] or "it does not say why")
