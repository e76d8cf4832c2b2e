"""What an API server's refusals mean to us. Made from the Status object that it answers with.

Temporary: no answer, 409 of a precondition, 429, 5xx, a kind or namespace that is not there yet.
Permanent: 401, 403, 400 and 422, a webhook's no, a field that another manager holds, an object of that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from portal.lib.http import Answer

LONGEST = 400  # characters of the server's own words that people are shown
# the server repeats what it refuses, which may be a secret; the field's name is enough
VALUE = re.compile(r"""( value: )(?:"(?:[^"\\]|\\.)*"|[^"\s:]*\{.*\}|[^"\s:]+)(?=:|$)""")
# by any status: most webhooks choose 403, which otherwise is a lack of rights
WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request(.*)', re.DOTALL)

# 500 is what a server-side apply of a field that the schema does not have is answered with (seen on 1.35)
UNTYPED = "failed to create typed patch object"


class Cause(msgspec.Struct, frozen=True):
    """One field that was refused."""

    field: str = ""
    message: str = ""
    reason: str = ""


class Details(msgspec.Struct, frozen=True):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""  # nearly always the plural
    causes: Sequence[Cause] = ()
    retry_after: int = msgspec.field(default=0, name="retryAfterSeconds")


class Status(msgspec.Struct, frozen=True):
    """The body of a refusal. `kind` is "Status" in a real one."""

    kind: str = ""
    reason: str = ""
    message: str = ""
    code: int = 0
    details: Details | None = None


class NotReachable(TemporaryError):
    """No answer; a change may have been seen, which a second apply or delete finds out."""

    def __init__(self, message: str = "The API server does not answer.") -> None:
        super().__init__("KubeNotReachable", message)


class BadAnswer(TemporaryError):
    """Something answered, but not as an API server does."""

    def __init__(self, message: str = "The API server gave no usable answer.") -> None:
        super().__init__("KubeBadAnswer", message)


class Busy(TemporaryError):
    """The server asks for a pause of `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__("KubeBusy", f"The API server is busy and asks to wait {seconds:g} s.")
        self.seconds = seconds


class ServerFailed(TemporaryError):
    """5xx: the server, its store or a webhook of it failed."""

    def __init__(self, message: str) -> None:
        super().__init__("KubeServerFailed", f"The API server failed: {message}")


class ParentMissing(TemporaryError):
    """The kind or the namespace is not there yet."""

    def __init__(self, message: str, *, reason: str = "ParentMissing") -> None:
        super().__init__(reason, message)


class Moved(TemporaryError):
    """The object is another one than we looked at: look again."""

    def __init__(self, message: str) -> None:
        super().__init__("ObjectMoved", message)


class Unauthorized(PermanentError):
    """The credential is not valid on this server."""

    def __init__(self) -> None:
        super().__init__(
            "Unauthorized",
            "The API server does not accept the portal's credential.",
            hint="Renew the credential, then retry.",
        )


class Forbidden(PermanentError):
    """RBAC, a quota or an admission rule says no; the message names verb and resource."""

    def __init__(self, message: str) -> None:
        super().__init__(
            "Forbidden",
            f"The API server forbids this: {message}",
            hint="Compare the portal's rights there with deploy/rbac.",
        )


class Denied(PermanentError):
    """A vendor's admission webhook says no: that is about the object, not about our rights."""

    def __init__(self, webhook: str, words: str) -> None:
        super().__init__(
            "WebhookDenied",
            f"The admission webhook {webhook} refuses the object: {words}",
            hint="See what its vendor asks for, and whether this portal supports that release.",
        )


class Invalid(PermanentError):
    """The object breaks the server's schema or rules; the message names the fields."""

    def __init__(self, message: str) -> None:
        super().__init__(
            "Invalid",
            f"The API server refuses the object: {message}",
            hint="Compare the release of the component with those that this portal supports.",
        )


class Conflict(PermanentError):
    """A field that we set is held by another manager; the message names both."""

    def __init__(self, message: str) -> None:
        super().__init__("Conflict", f"Someone else manages this: {message}")


class AlreadyExists(PermanentError):
    """An object of that name is there."""

    def __init__(self, message: str) -> None:
        super().__init__("AlreadyExists", message)


def status_of(answer: Answer) -> Status:
    """The Status in a refusal; an empty one if the body holds none."""
    try:
        found = msgspec.json.decode(answer.body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Status()
    return found if found.kind == "Status" else Status()


def refusal(answer: Answer) -> OutsideError:
    """The error that an answer outside 2xx stands for. 404 of a wanted object is the caller's matter."""
    status = status_of(answer)
    words = _words(status) or f"status {answer.status}"
    if answer.status == 401:
        return Unauthorized()
    if answer.status == 429:
        told = status.details.retry_after if status.details else 0
        return Busy(answer.retry_after or told or 1.0)
    if answer.status >= 500:
        return Invalid(words) if status.message.startswith(UNTYPED) else ServerFailed(words)
    if not status.kind:
        return BadAnswer(f"The API server answered {answer.status} in no form of Kubernetes.")
    return _client_error(answer.status, status, words)


def _client_error(code: int, status: Status, words: str) -> OutsideError:
    if denied := WEBHOOK.search(words):
        return Denied(denied[1], denied[2].strip(" :") or "without explanation")
    if code == 409:
        return _conflict(status, words)
    if code == 403 and status.details and status.details.retry_after:  # e.g. a namespace in the making
        return Busy(float(status.details.retry_after))
    if code == 403 and _is_in_ending_namespace(status):
        return ParentMissing(words)
    if code == 422 and _is_of_another(status):
        return Moved(words)
    known = {403: Forbidden, 404: ParentMissing, 400: Invalid, 413: Invalid, 415: Invalid, 422: Invalid}
    return known[code](words) if code in known else BadAnswer(f"The API server answered {code}: {words}")


def _is_in_ending_namespace(status: Status) -> bool:
    """Whether only the namespace is in the way, which goes and comes again."""
    causes = status.details.causes if status.details else ()
    return bool(causes) and all(cause.reason == "NamespaceTerminating" for cause in causes)


def _is_of_another(status: Status) -> bool:
    """Whether only the uid is wrong: another object has the name now."""
    causes = status.details.causes if status.details else ()
    return bool(causes) and all(cause.field == "metadata.uid" for cause in causes)


def _conflict(status: Status, words: str) -> OutsideError:
    if status.reason == "AlreadyExists":
        return AlreadyExists(words)
    causes = status.details.causes if status.details else ()
    if any(cause.reason == "FieldManagerConflict" for cause in causes):
        return Conflict(words)
    return Moved(words)  # a precondition, or a write in between


def _words(status: Status) -> str:
    text = status.message
    for cause in status.details.causes if status.details else ():
        if cause.field and cause.field not in text:
            text += f" ({cause.field}: {cause.message})"
    text = VALUE.sub(r"\1...", " ".join(text.split()))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
