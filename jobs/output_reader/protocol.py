"""What goes over the socket: one JSON line asks, one JSON line and the bytes answer."""

from __future__ import annotations

import uuid
from typing import Final, Literal, TypeAlias

import msgspec

CHUNK: Final = 256 * 1024  # bytes of one answer at most
TAIL: Final = 64 * 1024  # bytes from the end when no offset is given
LONGEST_TEXT: Final = 100  # characters to look for
MOST_PLACES: Final = 50  # of one answer
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
    """Which output, and from which byte. Without an offset: the tail. With a text: where that stands."""

    job: uuid.UUID
    stream: Stream
    offset: int | None = None
    tail: bool = False
    find: str = ""

    def __post_init__(self) -> None:
        if self.offset is not None and not 0 <= self.offset < 2**62:
            raise ValueError("An offset is a number of bytes from the start.")
        if len(self.find) > LONGEST_TEXT or not (self.find or "-").isprintable():
            raise ValueError("A text to look for is short, and of one line.")

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


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A line that shows the text that was looked for."""

    offset: int  # of the line's first byte
    line: int  # ends of lines between the first byte looked at and this line
    text: str  # a part of the line, as it is shown
    at: int  # where in the text it stands, in characters
    length: int


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one call found, and where the next one goes on."""

    places: list[Place]
    next_offset: int
    lines: int  # ends of lines up to there


class OutputFound(msgspec.Struct, frozen=True, kw_only=True):
    """The places of a text in an output file, from `offset` to `found.next_offset`.

    Where `offset` is not the one that was asked for, the file has become shorter: all begins again.
    """

    state: State
    size: int = 0
    offset: int = 0
    found: Found | None = None

    @property
    def places(self) -> list[Place]:
        """Lines that show the text."""
        return self.found.places if self.found else []

    @property
    def next_offset(self) -> int | None:
        """Where to look on; None at the end of the file."""
        if self.found is None or self.found.next_offset >= self.size:
            return None
        return self.found.next_offset


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What the lookup knows of a stream. A blank path is the other stream's file."""

    path: str  # absolute, expanded
    account: str  # ^fh[a-z0-9]{4,28}$
    uid: int
    gid: int
