"""What a caller may have to handle, made from the many ways in which slurmrestd says no.

Slurm's error objects have four shapes: {error, error_code}, {description, error_number, error, source},
{error, errno} and {description, source}. Beside them there are plain text, pages of proxies and empty
bodies; errors with status 200; and accepted jobs with "errors" that are only warnings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from portal.lib.errors import OutsideError, PermanentError, TemporaryError
from portal.lib.http import Answer

JOB_UNKNOWN: Final = 2017
ALREADY_DONE: Final = 2021
NO_CONNECTION: Final = 1800  # slurmrestd found no slurmctld: nothing was handed over
TRY_AGAIN: Final = 11  # EAGAIN, left over from something else
ACCESS_DENIED: Final = 2002
NOTHING_FOUND: Final = 9003  # of slurmdbd; with status 200
BOOKS_AWAY: Final = frozenset({7000, 1900, 6600})  # slurmrestd or slurmctld found no slurmdbd
NOT_PERMITTED: Final = frozenset({ACCESS_DENIED, 2010})
TOKEN_CODES: Final = frozenset({1007})
# with status 500: a dead token, or slurmctld hung up or did not answer; 1000 is said of a change to a job
VAGUE_CODES: Final = frozenset({-1, 1000, 5005})
GAVE_UP: Final = 1  # EPERM, left over: 24.11 and 26.05 heard nothing from slurmctld about a cancel
LINK_CODES: Final = frozenset({1801, 1802, 1803, 2027, 5004})  # between slurmrestd and slurmctld
FIELDS: Final = {
    2000: "partition",
    2001: "partition",
    2006: "nodes",
    2009: "script",
    2012: "script",
    2025: "tasks",
    2038: "dependency",
    2045: "account",
    2051: "time_limit_minutes",
    2053: "reservation",
    2066: "qos",
    2072: "gpus",
    2081: "array",
    2127: "environment",
}
QUICK: Final = 3.0  # seconds; slurmctld refuses a token in 12 ms, a missing slurmctld takes 9 s
_TOLD_CLEARLY: Final = 300


class NotReachable(TemporaryError):
    """No answer from the cluster's API, or its slurmctld does not answer. Nothing was changed."""

    def __init__(self, message: str = "The cluster's Slurm API does not answer.") -> None:
        super().__init__("SlurmNotReachable", message)


class BadAnswer(TemporaryError):
    """Something answered, but not as Slurm does. `extract` is for the log and never for a page."""

    def __init__(
        self, message: str = "The cluster's Slurm API gave no usable answer.", extract: str = ""
    ) -> None:
        super().__init__("SlurmBadAnswer", message)
        self.extract = extract


class Unclear(TemporaryError):
    """A change was sent and no clear answer came back: look for its mark before trying again."""

    def __init__(self, cause: str = "") -> None:
        super().__init__("SlurmUnclear", "The request was sent, but it is not known whether Slurm took it.")
        self.cause = cause


class TokenRefused(TemporaryError):
    """Slurm did not accept the token: another cluster's key, or clocks that differ."""

    def __init__(self) -> None:
        super().__init__(
            "SlurmTokenRefused",
            "Slurm did not accept the portal's token.",
            hint="Compare the cluster's JWT key and the clocks of both machines.",
        )


class VersionGone(TemporaryError):
    """slurmrestd does not know this API version (any more): discover again."""

    def __init__(self, version: str = "") -> None:
        super().__init__(
            "SlurmVersionGone", f"The cluster's Slurm API does not speak {version or 'this version'}."
        )


class NoCommonVersion(PermanentError):
    """The portal and slurmrestd share no API version."""

    def __init__(self, ours: Sequence[str], theirs: Sequence[str]) -> None:
        super().__init__(
            "NoCommonSlurmVersion",
            f"The portal speaks {', '.join(ours)}; the cluster speaks {', '.join(theirs) or 'none of them'}.",
            hint="Upgrade the portal, or start slurmrestd with one of the portal's versions.",
        )


class SlurmRefused(PermanentError):
    """Slurm understood the request and refused it. `code` is Slurm's; `field` names the form's, if clear."""

    def __init__(self, code: int | None, message: str, *, field: str = "") -> None:
        super().__init__("SlurmRefused", message or "Slurm refused the request.")
        self.code = code
        self.field = field or FIELDS.get(code or 0, "")


class TryAgain(TemporaryError):
    """Slurm put a change off, several times. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("SlurmTryAgain", "Slurm could not make the change just now. Nothing was changed.")


class UnknownJob(SlurmRefused):
    """Slurm has no such job (any more)."""


class NotPermitted(SlurmRefused):
    """The job belongs to another account, or the account may not do this."""


class ErrorEntry(msgspec.Struct):
    """All four shapes at once."""

    description: str | None = None
    error: str | None = None
    error_number: int | None = None
    error_code: int | None = None
    errno: int | None = None
    source: str | None = None

    @property
    def code(self) -> int | None:
        """Slurm's number, whatever its key is called; 0 is no number."""
        return self.error_number or self.error_code or self.errno or None

    @property
    def text(self) -> str:
        """Slurm's own words, cleaned."""
        words = [clean(word, _TOLD_CLEARLY) for word in (self.error, self.description) if word]
        vague = [word for word in words if word != "Unspecified error"]
        return (vague or words or [""])[0]


class _Errors(msgspec.Struct):
    errors: list[ErrorEntry] | None = None


def clean(text: str, limit: int = 200) -> str:
    """One short line without control characters."""
    line = re.sub(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+", " ", text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def extract(body: bytes) -> str:
    """A few words of a foreign body for the log, without its markup."""
    text = body[:4096].decode("utf-8", "replace")
    return clean(
        re.sub(r"<(script|style)\b.*?(</\1>|$)|<[^>]*>?", " ", text, flags=re.DOTALL | re.IGNORECASE)
    )


def entries_of(body: bytes) -> list[ErrorEntry] | None:
    """The error objects of a body; None when it is not an answer of Slurm's."""
    try:
        return msgspec.json.decode(body, type=_Errors).errors or []
    except (msgspec.DecodeError, RecursionError):
        return None


def from_entries(entries: Sequence[ErrorEntry], *, status: int, seconds: float) -> OutsideError:
    """The one error that a list of Slurm's error objects means."""
    codes = {entry.code for entry in entries}
    telling = next((e for e in entries if e.code and e.code > 0), entries[0])
    if JOB_UNKNOWN in codes:
        return UnknownJob(JOB_UNKNOWN, telling.text)
    if codes & (TOKEN_CODES | {TRY_AGAIN}):
        return TokenRefused() if codes & TOKEN_CODES else TryAgain()
    if codes & LINK_CODES or NO_CONNECTION in codes:
        return NotReachable("The cluster's slurmctld does not answer.")
    names_a_key = any((entry.source or "").startswith("#/job/") for entry in entries)  # of what was sent
    if status >= 500 and codes <= VAGUE_CODES | {None} and not names_a_key:
        return TokenRefused() if seconds < QUICK else NotReachable("The cluster's slurmctld does not answer.")
    if codes & NOT_PERMITTED:
        return NotPermitted(telling.code, telling.text)
    texts = dict.fromkeys(entry.text for entry in entries if entry.code != 9001 and entry.text)
    return SlurmRefused(telling.code, " ".join(texts) or telling.text)


def was_not_handed_over(answer: Answer) -> bool:
    """True if slurmrestd says that it had no connection to slurmctld at all."""
    return any(entry.code == NO_CONNECTION for entry in entries_of(answer.body) or ())


def was_not_answered(answer: Answer) -> bool:
    """True if slurmrestd says of a cancel no more than "Operation not permitted": it may be done yet."""
    return {entry.code for entry in entries_of(answer.body) or ()} == {GAVE_UP}


def was_put_off(answer: Answer) -> bool:
    """True if slurmctld refused a change with "Resource temporarily unavailable": it looked at nothing.

    Seen in 24.11 and 26.05 with changes of a job's partition or account, at random; asked again, they pass.
    """
    if answer.status == 200:
        return False
    return any(entry.code == TRY_AGAIN for entry in entries_of(answer.body) or ())


def from_answer(answer: Answer, *, version: str = "") -> OutsideError:
    """What an answer means that brought no result. Statuses: 401 and 511 are the token, 404 the path."""
    entries = entries_of(answer.body)
    if entries:
        if answer.status == 511:
            return TokenRefused()
        return from_entries(entries, status=answer.status, seconds=answer.seconds)
    if answer.status in {401, 511} and answer.content_type != "text/html":
        return TokenRefused()
    if answer.status == 404 and answer.content_type != "text/html":
        return VersionGone(version)
    if answer.status in {400, 405, 413, 415, 422} and answer.content_type == "text/plain":
        return SlurmRefused(None, "slurmrestd could not read the request.")
    return BadAnswer(
        f"The cluster's Slurm API answered with status {answer.status} and nothing of Slurm's.",
        extract(answer.body),
    )
