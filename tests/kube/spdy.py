"""As much of SPDY/3.1 as a kubelet needs to answer an exec: streams that the other side opens.

Source: the SPDY/3.1 draft, and moby/spdystream 0.5.1, with which API servers speak to kubelets.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

SYN_STREAM, SYN_REPLY, RST, SETTINGS, PING, GOAWAY, HEADERS, WINDOW = 1, 2, 3, 4, 6, 7, 8, 9
FIN = 1
VERSION = 3
LARGEST = 16 * 1024  # bytes of one data frame that we send
# what the draft has every compressor know beforehand: words with their length, then the rest
_KNOWN = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges"
    " age allow authorization cache-control connection content-base content-encoding content-language"
    " content-length content-location content-md5 content-range content-type date etag expect expires from"
    " host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location"
    " max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer"
    " transfer-encoding upgrade user-agent vary via warning www-authenticate method get status"
)
_MORE = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203"
    " Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403"
    " Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar"
    " Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun,"
    " GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in (*_KNOWN.split(), *_MORE)) + (
    _REST.encode()
)


@dataclass
class Opened:
    """A stream that the other side opened."""

    number: int
    headers: dict[str, str] = field(default_factory=dict)


class Connection:
    """One connection, from after the upgrade."""

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self._reading, self._writing = reading, writing
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def opened(self) -> Iterator[Opened]:
        """Streams as they are opened, each answered; ends when the other side is done."""
        while head := self._reading.read(8):
            first, second = struct.unpack(">II", head)
            kind, length = first & 0xFFFF, second & 0xFFFFFF
            body = self._reading.read(length)
            if not first & 0x80000000:
                continue  # data: nobody sends us any
            if kind == SYN_STREAM:
                number = struct.unpack(">I", body[:4])[0] & 0x7FFFFFFF
                headers = _pairs(self._inflate.decompress(body[10:]))
                self._control(SYN_REPLY, struct.pack(">I", number) + self._packed({}))
                yield Opened(number, headers)
            elif kind == PING:
                self._control(PING, body)
            elif kind == GOAWAY:
                return

    def send(self, stream: Opened, data: bytes, *, last: bool = False) -> None:
        """Data on a stream, and its end."""
        parts = [data[at : at + LARGEST] for at in range(0, len(data), LARGEST)] or [b""]
        for part in parts:
            flags = FIN if last and part is parts[-1] else 0
            self._write(struct.pack(">II", stream.number, flags << 24 | len(part)) + part)

    def _packed(self, headers: dict[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers)) + b"".join(
            struct.pack(">I", len(text)) + text.encode() for pair in headers.items() for text in pair
        )
        return self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _control(self, kind: int, body: bytes) -> None:
        self._write(struct.pack(">HHI", 0x8000 | VERSION, kind, len(body)) + body)

    def _write(self, frame: bytes) -> None:
        self._writing.write(frame)
        self._writing.flush()


def _pairs(plain: bytes) -> dict[str, str]:
    (count,) = struct.unpack(">I", plain[:4])
    at, texts = 4, []
    for _ in range(2 * count):
        (length,) = struct.unpack(">I", plain[at : at + 4])
        texts.append(plain[at + 4 : at + 4 + length].decode())
        at += 4 + length
    return dict(zip(texts[::2], texts[1::2], strict=True))
