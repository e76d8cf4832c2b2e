"""Asks the output reader; for the portal's processes, which are no users of any cluster."""

from __future__ import annotations

import socket
import time
import uuid
from pathlib import Path

import msgspec
from django.utils.translation import gettext as _

from jobs.output_reader.protocol import (
    CHUNK,
    LONGEST_HEADER,
    Found,
    Header,
    OutputChunk,
    OutputFound,
    Request,
    Stream,
)
from portal.lib.errors import TemporaryError


class ReaderNotReachable(TemporaryError):
    """The output reader does not run, hangs, or turned us away."""

    def __init__(self) -> None:
        super().__init__(
            "OutputReaderNotReachable",
            _("The output cannot be read at the moment."),
            hint=_("Look whether the output reader runs (`manage.py read_outputs`)."),
        )


def read(
    socket_path: Path | str, job_id: uuid.UUID, stream: Stream, offset: int | None, *, deadline: float = 5.0
) -> OutputChunk:
    """At most 256 KiB from an offset, or without one the last 64 KiB. Raises ReaderNotReachable."""
    request = Request(job=job_id, stream=stream, offset=offset, tail=offset is None)
    header, data = _ask(socket_path, request, deadline)
    return OutputChunk(state=header.state, size=header.size, offset=header.offset, data=data)


def find(
    socket_path: Path | str, job_id: uuid.UUID, stream: Stream, text: str, offset: int, *, deadline: float
) -> OutputFound:
    """Where a text of at most 100 printable characters stands, from an offset on. Raises ReaderNotReachable.

    One call looks for two seconds at most: the answer says where to go on.
    """
    header, data = _ask(socket_path, Request(job=job_id, stream=stream, offset=offset, find=text), deadline)
    try:
        found = msgspec.json.decode(data, type=Found) if header.state == "ok" else None
    except msgspec.DecodeError as error:
        raise ReaderNotReachable from error
    return OutputFound(state=header.state, size=header.size, offset=header.offset, found=found)


def _ask(socket_path: Path | str, request: Request, deadline: float) -> tuple[Header, bytes]:
    until = time.monotonic() + deadline
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(deadline)
            connection.connect(str(socket_path))
            connection.sendall(msgspec.json.encode(request) + b"\n")
            answer = _receive(connection, until)
        line, _, data = answer.partition(b"\n")
        header = msgspec.json.decode(line, type=Header)
    except (OSError, msgspec.DecodeError) as error:
        raise ReaderNotReachable from error
    if len(data) != header.length:
        raise ReaderNotReachable
    return header, data


def _receive(connection: socket.socket, until: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= LONGEST_HEADER + CHUNK:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    raise OSError("more than was asked for")
