"""What goes over the socket: one JSON line asks, one JSON line and the bytes answer."""

from __future__ import annotations

import uuid
from typing import Final, Literal, TypeAlias

import msgspec

CHUNK: Final = 256 * 1024  # bytes of one answer at most
TAIL: Final = 64 * 1024  # bytes from the end when no offset is given
LONGEST_REQUEST: Final = 1024
LONGEST_HEADER: Final = 1024

Stream: TypeAlias = Literal["stdout", "stderr"]
State: TypeAlias = Literal[
    "ok",
    "missing",  # no such file (yet)
    "same",  # the stream goes to the other stream's file
    "refused",  # a link, another user's file, or out of the user's own reach
    "not_regular",  # a folder, a pipe, a device
    "unknown",  # no such job, or none of an account of ours
    "busy",  # too many reads at once; ask again
    "failed",  # the reader itself could not
]


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which output, and from which byte. Without an offset: the tail."""

    job: uuid.UUID
    stream: Stream
    offset: int | None = None
    tail: bool = False

    def __post_init__(self) -> None:
        if self.offset is not None and not 0 <= self.offset < 2**62:
            raise ValueError("An offset is a number of bytes from the start.")

    @property
    def start(self) -> int | None:
        """The first byte that is wanted; None for the tail."""
        return None if self.tail else self.offset


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `offset` is where the bytes start, `size` the file's size at that moment."""

    state: State
    size: int = 0
    offset: int = 0
    length: int = 0  # bytes that follow


class OutputChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an output file.

    Where `offset` is not the one that was asked for, the file has become shorter: begin again with it.
    """

    state: State
    size: int = 0
    offset: int = 0
    data: bytes = b""

    @property
    def next_offset(self) -> int:
        """Where the next part begins."""
        return self.offset + len(self.data)

    @property
    def is_at_end(self) -> bool:
        """Nothing more was there."""
        return self.next_offset >= self.size


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What the lookup knows of a stream. A blank path is the other stream's file."""

    path: str  # absolute, expanded
    account: str  # ^fh[a-z0-9]{4,28}$
    uid: int
    gid: int
