"""A WebSocket to an API server: one request, then messages until it closes, all within one deadline.

The protocol is the `websockets` package's; sockets are our own, since its client reads and writes one TLS
connection from two threads, and OpenSSL then loses a request now and then.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from clusters.clients.kube import errors
from clusters.clients.kube.models import Access
from portal.lib.errors import TemporaryError
from portal.lib.http import Answer

PART = 64 * 1024  # bytes read at once
LONGEST_MESSAGE = 1024 * 1024


class Broken(TemporaryError):
    """The request may have been seen, and what was to follow did not come."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__("ExecUnfinished", message)
        self.timed_out = timed_out


def messages(
    access: Access, tls: ssl.SSLContext, path: str, *, protocols: Sequence[str], timeout: float
) -> Iterator[bytes]:
    """Each binary message that comes, until the other side closes.

    Raises NotReachable before anything was sent, the refusals of clients.kube.errors, and Broken.
    """
    until = time.monotonic() + timeout
    with _connected(access, tls, until) as connection:
        protocol = _asking(access, path, protocols)
        try:
            yield from _received(protocol, connection, until)
        except TimeoutError as error:
            raise Broken("There was no answer in time.", timed_out=True) from error
        except OSError as error:
            raise Broken("The connection was lost.") from error
        finally:
            with suppress(OSError):  # a last word; what it is about may have ended long ago
                _send(protocol, connection, until)


def _connected(access: Access, tls: ssl.SSLContext, until: float) -> ssl.SSLSocket:
    parts = urlsplit(access.server)
    host, port = parts.hostname or "", parts.port or 443
    try:
        plain = socket.create_connection((host, port), timeout=_left(until))
    except OSError as error:
        raise errors.NotReachable from error
    try:
        return tls.wrap_socket(plain, server_hostname=host)
    except OSError as error:
        plain.close()
        raise errors.NotReachable("The certificate or the encryption was refused.") from error


def _asking(access: Access, path: str, protocols: Sequence[str]) -> ClientProtocol:
    uri = parse_uri(f"wss://{access.server.removeprefix('https://')}{access.prefix}{path}")
    wanted = [Subprotocol(name) for name in protocols]
    protocol = ClientProtocol(uri, subprotocols=wanted, max_size=LONGEST_MESSAGE)
    request = protocol.connect()
    request.headers["User-Agent"] = "freehold"
    if access.token:
        request.headers["Authorization"] = f"Bearer {access.token}"
    protocol.send_request(request)
    return protocol


def _received(protocol: ClientProtocol, connection: ssl.SSLSocket, until: float) -> Iterator[bytes]:
    begun = bytearray()
    for frame in _frames(protocol, connection, until):
        if frame.opcode is Opcode.CLOSE:
            return
        if frame.opcode in {Opcode.BINARY, Opcode.CONT}:
            begun += frame.data
            if frame.fin:
                yield bytes(begun)
                begun.clear()


def _frames(protocol: ClientProtocol, connection: ssl.SSLSocket, until: float) -> Iterator[Frame]:
    data = b"?"
    while data:
        _send(protocol, connection, until)
        connection.settimeout(_left(until))
        data = connection.recv(PART)
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        _check(protocol)
        yield from (event for event in protocol.events_received() if isinstance(event, Frame))


def _check(protocol: ClientProtocol) -> None:
    """Whether the answer to the request was the wanted one."""
    error = protocol.handshake_exc
    if isinstance(error, InvalidStatus):
        answer = error.response
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        raise errors.refusal(Answer(answer.status_code, kind, bytes(answer.body)))
    if error is not None:
        raise Broken("The API server gave no usable answer.") from error


def _send(protocol: ClientProtocol, connection: ssl.SSLSocket, until: float) -> None:
    connection.settimeout(_left(until))
    if waiting := b"".join(protocol.data_to_send()):
        connection.sendall(waiting)


def _left(until: float) -> float:
    """Of the deadline, in seconds; a moment where it has passed."""
    return max(until - time.monotonic(), 0.001)
