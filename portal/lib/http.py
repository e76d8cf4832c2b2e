"""The one way to speak HTTP to an outside system, which is taken to be hostile.

TLS is always verified; redirects, proxies, cookies, .netrc and compressed bodies are not used; a body
has a size limit and a whole exchange a time limit, also when the other side sends one byte at a time.
Answers of any status are returned: what they mean is the caller's matter.

Over the standard library's http.client: `requests` does all that is not used here at ten times the cost.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import os
import select
import socket
import ssl
import string
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from portal.lib.deadlines import Deadline
from portal.lib.errors import PermanentError, TemporaryError

MEBIBYTE = 1024 * 1024
DEFAULT_LIMIT = 256 * MEBIBYTE
CHUNK = 256 * 1024
FRESH = 5.0  # seconds for which a connection is taken to be alive after an answer
CONNECT = 5.0  # seconds, at most, for a connection or one step of its encryption
READS = frozenset({"GET", "HEAD"})
ANY_STATUS = 1000


class NotSent(TemporaryError):
    """No connection: the other side has certainly not seen the request."""


class NoAnswer(TemporaryError):
    """The request may have been seen, but no whole answer came back. `timed_out`: it took too long."""

    def __init__(self, reason: str, message: str, *, timed_out: bool = False) -> None:
        super().__init__(reason, message)
        self.timed_out = timed_out


class TooLarge(TemporaryError):
    """The answer is larger than the limit; the rest was not read."""


class AddressRefused(PermanentError):
    """The configured address is not one that we send secrets to."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. `body` is as sent; `content_type` is lower case without parameters."""

    status: int
    content_type: str
    body: bytes
    seconds: float = 0.0  # from the first byte sent to the last one read
    retry_after: float | None = None  # seconds, where the other side asks for a pause
    set_cookies: tuple[str, ...] = field(default=(), repr=False)  # as sent; none is kept or sent back by us


class _Line:
    """One connection. `watched` is a second descriptor of it, which TLS cannot take away from us."""

    def __init__(self, host: str, port: int) -> None:
        self._http = http.client.HTTPConnection(host, port)
        self._http.sock = socket.create_connection((host, port), CONNECT)
        self._http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.watched = socket.socket(fileno=os.dup(self._http.sock.fileno()))
        self._changes = select.poll()
        self._changes.register(self.watched, select.POLLIN)
        self.answered = 0.0  # when the last answer came

    def encrypt(self, tls: ssl.SSLContext, host: str) -> None:
        """Raises SSLError for another side than is expected."""
        self._http.sock = tls.wrap_socket(self._http.sock, server_hostname=host)

    @property
    def is_open(self) -> bool:
        """Nothing came since the last answer, no end either."""
        return self._http.sock is not None and not self._changes.poll(0)

    def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> None:
        """Send a request; no step of it or of its answer may take longer than so many seconds."""
        self._http.sock.settimeout(seconds)
        self._http.request(method, target, body, headers)

    def answer(self) -> http.client.HTTPResponse:
        """The head of the answer; its body is to be read whole before the next request."""
        return self._http.getresponse()

    def close(self) -> None:
        """At once, whoever still holds a part of it."""
        with contextlib.suppress(OSError):
            self.watched.shutdown(socket.SHUT_RDWR)
        self.watched.close()
        self._http.close()


def is_loopback(host: str) -> bool:
    """True for an address of this machine itself, where nobody listens in."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was sent: to be ended, or closed by who does not care for its answer.

    `fileno` is readable as soon as the answer begins, the other side hangs up or the time is up.
    """

    _outside: Outside
    _line: _Line
    _deadline: Deadline
    _began: float
    _limit: int
    _keep_below: int  # the status from which on the connection is used no more

    def fileno(self) -> int:
        """For select.poll and its kind."""
        return self._line.watched.fileno()

    def end(self) -> Answer:
        """Wait for the whole answer. Raises NoAnswer or TooLarge."""
        keep = False
        try:
            with self._line.answer() as response:
                content = _read(response, self._limit)
            keep = response.status < self._keep_below
        except (http.client.HTTPException, OSError) as error:
            raise _no_answer(error, self._deadline) from error
        finally:
            self._deadline.lift()
            self._outside.give_back(self._line, keep=keep and not self._deadline.passed)
        if self._deadline.passed:  # a body without a length ends where it was cut
            raise NoAnswer("NoAnswerInTime", "The answer took too long.", timed_out=True)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        pause = response.headers.get("Retry-After", "")
        return Answer(
            response.status,
            kind,
            content,
            time.monotonic() - self._began,
            retry_after=float(pause) if pause.isascii() and pause.isdigit() else None,
            set_cookies=tuple(response.headers.get_all("Set-Cookie", ())),
        )

    def close(self) -> None:
        """The answer will be lost; what was asked for may be done all the same."""
        self._deadline.lift()
        self._line.close()


class Outside:
    """Speaks to one outside system. Safe to share between threads.

    `authorities` is a file of CA certificates; without it the system's are used. `tls` is a context that
    holds the only authorities to trust, and perhaps a client certificate. Plain http is for loopback
    only, unless `plain_ok` says that the way there is protected by other means. `headers` go with each
    request.
    """

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = 10.0,
        limit: int = DEFAULT_LIMIT,
        authorities: str | None = None,
        tls: ssl.SSLContext | None = None,
        plain_ok: bool = False,
        connections: int = 8,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise AddressRefused("BadAddress", "The address of an outside system is not a plain http(s) URL.")
        if parts.scheme == "http" and not plain_ok and not is_loopback(parts.hostname):
            raise AddressRefused(
                "PlainHttp", "Plain http is used on this machine only. Give an https address."
            )
        self.base_url = base_url.rstrip("/")
        self.timeout = timeout
        self.limit = limit
        if tls is not None and (tls.verify_mode is not ssl.CERT_REQUIRED or not tls.check_hostname):
            raise ValueError("A context that does not verify the other side is never used.")
        self._is_encrypted = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._is_encrypted else 80)
        self._base = parts.path.rstrip("/")
        self._authorities = authorities
        self._tls = tls
        self._headers = {"User-Agent": "freehold", **(headers or {})}
        self._most = connections
        self._free: list[_Line] = []  # in nobody's hands, the last used last
        weakref.finalize(self, _close_all, self._free)

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        reuse: bool = False,
    ) -> Answer:
        """Send once and return the whole answer. Raises NotSent, NoAnswer or TooLarge.

        Only reads take a connection that was used: one that the other side just closed would leave it
        unclear whether a change was seen. A change whose unclear answer can be borne may `reuse` one on
        which all went well a moment ago; after any other answer to a change it is closed, as slurmrestd
        closes it too. (Nothing asks for "Connection: close": slurmrestd 22.05 then hangs up on one submit in
        four before it answers, though it took the job.)
        """
        return self.begin(
            method, path, headers=headers, body=body, timeout=timeout, limit=limit, reuse=reuse
        ).end()

    def begin(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        reuse: bool = False,
    ) -> Exchange:
        """As `send`, but the answer is for its `end` to wait for: so one thread sends several at a time."""
        began = time.monotonic()
        seconds = timeout or self.timeout
        target = quote(self._base + path, safe=string.punctuation)
        deadline = Deadline(seconds)
        line = None
        try:
            line = self._line_for(method, reuse=reuse) or self._connect(deadline)
            deadline.guard(line.watched)
            line.ask(method, target, {**self._headers, **headers}, body, seconds)
        except BaseException as error:
            deadline.lift()
            if line is not None:
                line.close()
            if isinstance(error, http.client.HTTPException | OSError):
                raise _no_answer(error, deadline) from error
            raise
        keep_below = ANY_STATUS if method in READS else 400 if reuse else 0
        return Exchange(self, line, deadline, began, limit or self.limit, keep_below)

    def close(self) -> None:
        """Give the connections back; who still waits for an answer on one gets it."""
        self._most = 0
        _close_all(self._free)

    def _line_for(self, method: str, *, reuse: bool) -> _Line | None:
        """One that was used and may be used again."""
        if method not in READS and not reuse:
            return None
        while line := _taken(self._free):
            is_fresh = time.monotonic() - line.answered < FRESH
            if (is_fresh or method in READS) and line.is_open:
                return line
            line.close()
        return None

    def _connect(self, deadline: Deadline) -> _Line:
        line = None
        try:
            line = _Line(self._host, self._port)
            deadline.guard(line.watched)
            if self._is_encrypted:
                self._tls = self._tls or ssl.create_default_context(cafile=self._authorities)
                line.encrypt(self._tls, self._host)
        except OSError as error:
            if line is not None:
                line.close()
            if isinstance(error, ssl.SSLError):
                said = "The certificate or the encryption of the other side was refused."
                raise NotSent("TlsFailed", said) from error
            raise NotSent("NotReachable", "No connection could be made.") from error
        return line

    def give_back(self, line: _Line, *, keep: bool) -> None:
        """The end of an exchange: the connection is kept for the next one, or closed."""
        if keep and line.is_open and len(self._free) < self._most:
            line.answered = time.monotonic()
            self._free.append(line)
        else:
            line.close()


def _taken(lines: list[_Line]) -> _Line | None:
    try:
        return lines.pop()
    except IndexError:  # another thread took the last one
        return None


def _close_all(lines: list[_Line]) -> None:
    while line := _taken(lines):
        line.close()


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := response.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise TooLarge("AnswerTooLarge", f"The answer is larger than {limit // MEBIBYTE} MiB.")
        parts.append(chunk)
    if response.length:  # less came than was announced
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(parts)


def _no_answer(error: Exception, deadline: Deadline) -> NoAnswer:
    if deadline.passed or isinstance(error, TimeoutError):
        return NoAnswer("NoAnswerInTime", "The answer took too long.", timed_out=True)
    return NoAnswer("ConnectionLost", "The connection was lost before the whole answer came.")
