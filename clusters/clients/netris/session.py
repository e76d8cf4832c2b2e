"""One logged-in conversation with a Netris controller: cookie, login again, envelope, errors.

A request that the controller answered with 401 was not processed, so it is sent once more after a new
login. Nothing else is ever sent twice. An answer of HTTP 200 may still say `isSuccess: false`.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field

from clusters.clients.netris.models import BadAnswer, SessionRefused, Unclear
from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from portal.lib.http import MEBIBYTE, Answer, NoAnswer, NotSent, Outside, TooLarge
from portal.lib.types import JSONDict

AUTH = "/api/auth"
COOKIE = re.compile(r"connect\.sid=([^;,\s]{1,4096})")
LIMIT = 32 * MEBIBYTE
LONGEST_EXTRACT = 200
SUCCESS = frozenset({200, 201, 202, 204})
TOTALS = ("total", "totalCount", "totalItems")
# what the controller's sentences mean; the first that is found decides
BUSY = ("in progress", "try again", "temporar", "timeout", "timed out", "locked", "busy", "being ")
MISSING = ("not found", "not exist", "doesn't exist", "no such", "cannot find", "can't find")
EXISTING = ("already exist", "must be unique", "duplicate", "already taken", "already used by")
IN_USE = ("in use", "is used", "depend", "has attached", "still has", "not empty")
FORBIDDEN = ("permission", "forbidden", "not allowed", "access denied", "not authorized", "unauthorized")


class Missing(PermanentError):
    """The controller says that the thing is not there."""


class Existing(TemporaryError):
    """The controller says that the name is in use: the next look finds by whom."""


@dataclass(frozen=True, slots=True)
class Login:
    """The service user of the portal at one controller."""

    user: str
    password: str = field(repr=False)


class Session:
    """Speaks to one controller as one user. Safe to share between threads."""

    def __init__(self, outside: Outside, login: Login) -> None:
        self._outside = outside
        self._login = login
        self._cookie = ""
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Session({self._outside.base_url!r}, user={self._login.user!r})"

    def items(self, path: str) -> list[JSONDict]:
        """A whole listing. Raises BadAnswer for anything that might be a part of one."""
        envelope = self._get(path)
        data = envelope.get("data") if isinstance(envelope, dict) else envelope
        if not isinstance(data, list):
            raise BadAnswer("BadAnswer", "The fabric controller's list cannot be read.")
        found = [item for item in data if isinstance(item, dict)]
        meta = envelope.get("meta") if isinstance(envelope, dict) else None
        partial = isinstance(meta, dict) and any(_exceeds(meta.get(name), len(data)) for name in TOTALS)
        if partial or len(found) != len(data):
            raise BadAnswer("PartialListing", "The fabric controller sent only a part of a list.")
        return found

    def item(self, path: str) -> JSONDict:
        """One thing. Raises Missing."""
        envelope = self._get(path)
        data = envelope.get("data") if isinstance(envelope, dict) else None
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        if not isinstance(data, dict) or "id" not in data:
            raise BadAnswer("BadAnswer", "The fabric controller's answer cannot be read.")
        return data

    def change(self, method: str, path: str, body: JSONDict | None = None) -> None:
        """Ask for a change once. Raises Unclear when it may have been made without our knowing."""
        try:
            answer = self._send(method, path, body)
        except (NoAnswer, TooLarge) as error:
            raise Unclear("Unclear", "The fabric controller did not say whether it took a change.") from error
        if _is_page(answer):
            self._forget()
            raise BadAnswer("LoginPage", "The fabric controller answered with a page instead of data.")
        _check(answer, _decoded(answer) if answer.body else {})

    def _get(self, path: str) -> JSONDict | list[object]:
        answer = self._read(path)
        if _is_page(answer):  # a login page: reads may be asked again
            self._forget()
            answer = self._read(path)
            if _is_page(answer):
                raise BadAnswer("LoginPage", "The fabric controller answered with a page instead of data.")
        if answer.status >= 500 or answer.status == 429:
            raise _unavailable(answer)
        content = _decoded(answer)
        _check(answer, content)
        return content

    def _read(self, path: str) -> Answer:
        try:
            return self._send("GET", path, None)
        except (NoAnswer, TooLarge) as error:
            raise TemporaryError("FabricNotAnswering", "The fabric controller does not answer.") from error

    def _send(self, method: str, path: str, body: JSONDict | None) -> Answer:
        cookie = self._cookie or self._log_in("")
        answer = self._once(method, path, body, cookie)
        if answer.status == 401:
            answer = self._once(method, path, body, self._log_in(cookie))
            if answer.status == 401:
                raise SessionRefused(
                    "FabricLoginRefused",
                    "The fabric controller does not accept the portal's session.",
                    hint="Look at the rights of the portal's user in the controller.",
                )
        return answer

    def _once(self, method: str, path: str, body: JSONDict | None, cookie: str) -> Answer:
        headers = {"Accept": "application/json", "Cookie": f"connect.sid={cookie}"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        try:
            return self._outside.send(method, path, headers=headers, body=content, limit=LIMIT)
        except NotSent as error:
            raise _unreachable(error) from error

    def _log_in(self, stale: str) -> str:
        """A new cookie, unless another thread has just brought one."""
        with self._lock:
            if self._cookie and self._cookie != stale:
                return self._cookie
            self._cookie = ""
            self._cookie = self._ask_for_cookie()
            return self._cookie

    def _ask_for_cookie(self) -> str:
        body = {"user": self._login.user, "password": self._login.password, "auth_scheme_id": 1}
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        content = json.dumps(body).encode()
        try:
            answer = self._outside.send("POST", AUTH, headers=headers, body=content, limit=MEBIBYTE)
        except NotSent as error:
            raise _unreachable(error) from error
        except (NoAnswer, TooLarge) as error:
            raise TemporaryError("FabricNotAnswering", "The fabric controller does not answer.") from error
        if answer.status in {400, 401, 403} or (answer.status == 200 and _says_no(answer)):
            # what it says about a password is told to nobody
            raise SessionRefused(
                "FabricLoginRefused",
                "The fabric controller refused the portal's user.",
                hint="Correct the user or its password in the site's settings.",
            )
        found = [match[1] for text in answer.set_cookies if (match := COOKIE.search(text))]
        if answer.status != 200 or not found:
            raise BadAnswer("BadAnswer", "The fabric controller's login did not give a session.")
        return found[-1]

    def _forget(self) -> None:
        with self._lock:
            self._cookie = ""


def _is_page(answer: Answer) -> bool:
    redirected = 300 <= answer.status < 400
    is_html = answer.content_type == "text/html" or answer.body[:200].lstrip().lower().startswith(b"<")
    return redirected or (is_html and answer.status < 300)


def _says_no(answer: Answer) -> bool:
    try:
        content = json.loads(answer.body or b"{}")
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("isSuccess") is False


def _decoded(answer: Answer) -> JSONDict | list[object]:
    try:
        content = json.loads(answer.body)
    except ValueError:
        content = None
    if isinstance(content, dict | list):
        return content
    if answer.status >= 500 or answer.status == 429:
        raise _unavailable(answer)
    raise BadAnswer("BadAnswer", f"The fabric controller's answer (HTTP {answer.status}) cannot be read.")


def _check(answer: Answer, content: JSONDict | list[object]) -> None:
    failed = isinstance(content, dict) and content.get("isSuccess") is False
    if answer.status in SUCCESS and not failed:
        return
    message = str(content.get("message") or "") if isinstance(content, dict) else ""
    raise _meaning(answer, message)


def _meaning(answer: Answer, message: str) -> OutsideError:
    """A sentence of ours; the controller's own words may name other tenants, so only operators see them."""
    said, hint = message.lower(), f"The controller says: {_extract(message)}" if message else ""
    if any(word in said for word in EXISTING):
        return Existing(
            "AlreadyThere", "The fabric controller already has something of this name.", hint=hint
        )
    if any(word in said for word in IN_USE):
        return TemporaryError("StillInUse", "The fabric controller still uses what is to change.", hint=hint)
    if answer.status == 404 or any(word in said for word in MISSING):
        return Missing("NotThere", "The fabric controller does not know what was asked for.", hint=hint)
    if answer.status == 403 or any(word in said for word in FORBIDDEN):
        return PermanentError("Forbidden", "The portal's user may not do this in the controller.", hint=hint)
    if answer.status >= 500 or answer.status == 429 or any(word in said for word in BUSY):
        return TemporaryError("FabricBusy", "The fabric controller could not do this now.", hint=hint)
    return PermanentError("FabricRefused", "The fabric controller refused a change.", hint=hint)


def _unavailable(answer: Answer) -> TemporaryError:
    return TemporaryError("FabricNotAnswering", f"The fabric controller answers with HTTP {answer.status}.")


def _unreachable(error: NotSent) -> TemporaryError:
    return TemporaryError("FabricNotReachable", f"The fabric controller cannot be reached. {error.message}")


def _extract(text: str) -> str:
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean[:LONGEST_EXTRACT]


def _exceeds(total: object, count: int) -> bool:
    return isinstance(total, int) and not isinstance(total, bool) and total > count
