"""The one way to speak HTTP to an outside system, which is taken to be hostile.

TLS is always verified; redirects, proxies, cookies, .netrc and compressed bodies are not used; a body
has a size limit and a whole exchange a time limit, also when the other side sends one byte at a time.
Answers of any status are returned: what they mean is the caller's matter.
"""

from __future__ import annotations

import contextlib
import heapq
import http.cookiejar
import ipaddress
import itertools
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from portal.lib.errors import PermanentError, TemporaryError

MEBIBYTE = 1024 * 1024
DEFAULT_LIMIT = 256 * MEBIBYTE
CHUNK = 256 * 1024
FRESH = 5.0  # seconds for which a connection is taken to be alive after an answer


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


class _Deadline:
    """Shuts a connection down when an exchange takes too long in all.

    The timeouts of a socket count from byte to byte, so a slow sender could hold a worker for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.passed = False
        self.sent = False  # something may have reached the other side
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self.is_over = False

    def guard(self, connection: socket.socket) -> None:
        """Watch a connection through a second descriptor, which TLS cannot take away from us."""
        with self._lock:
            self._sockets.append(socket.socket(fileno=os.dup(connection.fileno())))
            if self.passed:
                self._shut()

    def _shut(self) -> None:
        for watched in self._sockets:
            with contextlib.suppress(OSError):
                watched.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """The time is up."""
        with self._lock:
            if not self.is_over:
                self.passed = True
                self._shut()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Hold the deadline over what is inside."""
        token = _current.set(self)
        _watch.add(self)
        try:
            yield
        finally:
            _current.reset(token)
            with self._lock:
                self.is_over = True
                for watched in self._sockets:
                    watched.close()
                self._sockets.clear()


class _Watch:
    """Ends what takes too long: one thread for all, as a thread for each costs a tenth of a submit."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # threads do not come along

    def _begin(self) -> None:
        self._due: list[tuple[float, int, _Deadline]] = []
        self._numbers = itertools.count()  # deadlines of one moment cannot be compared
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, deadline: _Deadline) -> None:
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

    def _next(self) -> _Deadline:
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
_current: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


def _guard(connection: socket.socket | None, *, sent: bool) -> None:
    deadline = _current.get()
    if deadline is not None and connection is not None:
        deadline.sent = deadline.sent or sent
        deadline.guard(connection)


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        connection = super()._new_conn()
        _guard(connection, sent=True)  # connects in the middle of the request
        return connection

    def request(self, *args: object, **kwargs: object) -> None:
        _guard(self.sock, sent=True)  # one that is kept alive has a new deadline now
        super().request(*args, **kwargs)  # type: ignore[arg-type]


class _TlsConnection(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        connection = super()._new_conn()
        _guard(connection, sent=False)  # the handshake is still to come
        return connection

    def request(self, *args: object, **kwargs: object) -> None:
        _guard(self.sock, sent=True)
        super().request(*args, **kwargs)  # type: ignore[arg-type]


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class _Adapter(HTTPAdapter):
    def __init__(self, *, connections: int, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        super().__init__(pool_maxsize=connections, max_retries=0)

    def init_poolmanager(self, *args: object, **kwargs: object) -> None:
        if self._tls is not None:
            kwargs["ssl_context"] = self._tls
        super().init_poolmanager(*args, **kwargs)  # type: ignore[arg-type]
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def cert_verify(self, conn: HTTPSConnectionPool, url: str, verify: bool | str, cert: None) -> None:
        if self._tls is None:
            super().cert_verify(conn, url, verify, cert)  # type: ignore[no-untyped-call]
        else:  # requests would add the system's authorities to those of the context
            conn.cert_reqs = "CERT_REQUIRED"


def is_loopback(host: str) -> bool:
    """True for an address of this machine itself, where nobody listens in."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Outside:
    """Speaks to one outside system. Safe to share between threads.

    `authorities` is a file of CA certificates; without it the system's are used. `tls` is a context that
    holds the only authorities to trust, and perhaps a client certificate. Plain http is for loopback
    only, unless `plain_ok` says that the way there is protected by other means.
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
        self._authorities = authorities
        self._tls = tls
        self._connections = connections
        self._pooled = _session(authorities, connections, tls)
        self._kept: list[tuple[requests.Session, float]] = []  # each in nobody's hands, with one connection

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

        Only reads share connections: one that the other side just closed would leave it unclear
        whether a change was seen. A change whose unclear answer can be borne may `reuse` a connection of its
        own on which another change went well a moment ago; after any other answer it is closed, as
        slurmrestd closes it too. (Nothing asks for "Connection: close": slurmrestd 22.05 then hangs up
        on one submit in four before it answers, though it took the job.)
        """
        seconds = timeout or self.timeout
        began = time.monotonic()
        deadline = _Deadline(seconds)
        session = self._session_for(method, reuse=reuse)
        went_well = False
        try:
            with (
                deadline.running(),
                session.request(
                    method,
                    self.base_url + path,
                    headers={"Accept-Encoding": "identity", **headers},
                    data=body,
                    timeout=(min(seconds, 5.0), seconds),
                    allow_redirects=False,
                    stream=True,
                ) as response,
            ):
                answer = _read(response, limit or self.limit)
            went_well = answer.status < 400 and not deadline.passed
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise _say_what_failed(error, deadline) from error
        finally:
            self._give_back(session, keep=reuse and went_well)
        if deadline.passed:  # a body without a length ends where it was cut
            raise NoAnswer("NoAnswerInTime", "The answer took too long.", timed_out=True)
        return replace(answer, seconds=time.monotonic() - began)

    def close(self) -> None:
        """Give the connections back."""
        self._pooled.close()
        while self._kept:
            self._kept.pop()[0].close()

    def _session_for(self, method: str, *, reuse: bool) -> requests.Session:
        if method in {"GET", "HEAD"}:
            return self._pooled
        while reuse and self._kept:
            with contextlib.suppress(IndexError):  # another thread took the last one
                session, answered = self._kept.pop()
                if time.monotonic() - answered < FRESH:
                    return session
                session.close()
        return _session(self._authorities, 1, self._tls)

    def _give_back(self, session: requests.Session, *, keep: bool) -> None:
        if session is self._pooled:
            return
        if keep and len(self._kept) < self._connections:
            self._kept.append((session, time.monotonic()))
        else:
            session.close()


def _session(authorities: str | None, connections: int, tls: ssl.SSLContext | None) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no proxy, no .netrc, no CA file from the environment
    session.verify = authorities or True
    session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    session.headers.clear()
    session.headers["User-Agent"] = "freehold"
    adapter = _Adapter(connections=connections, tls=tls)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _read(response: requests.Response, limit: int) -> Answer:
    parts: list[bytes] = []
    size = 0
    while chunk := response.raw.read(CHUNK, decode_content=False):
        size += len(chunk)
        if size > limit:
            response.raw.close()
            raise TooLarge("AnswerTooLarge", f"The answer is larger than {limit // MEBIBYTE} MiB.")
        parts.append(chunk)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    pause = response.headers.get("Retry-After", "")
    return Answer(
        response.status_code,
        kind,
        b"".join(parts),
        retry_after=float(pause) if pause.isascii() and pause.isdigit() else None,
        set_cookies=tuple(response.raw.headers.getlist("Set-Cookie")),
    )


def _say_what_failed(error: Exception, deadline: _Deadline) -> NotSent | NoAnswer:
    if not deadline.sent:
        if isinstance(error, requests.exceptions.SSLError):
            return NotSent("TlsFailed", "The certificate or the encryption of the other side was refused.")
        return NotSent("NotReachable", "No connection could be made.")
    if deadline.passed or isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return NoAnswer("NoAnswerInTime", "The answer took too long.", timed_out=True)
    return NoAnswer("ConnectionLost", "The connection was lost before the whole answer came.")
