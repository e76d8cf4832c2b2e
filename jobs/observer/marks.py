"""The mark of a submit: a suffix of the job's comment by which a job is found after a lost answer."""

from __future__ import annotations

import re

_MARK = re.compile(r" ?\[fh:([a-z2-7]{12})\]$")


def add_mark(comment: str | None, mark: str) -> str:
    """The comment to send; without a mark as it is."""
    return f"{comment or ''} [fh:{mark}]".lstrip() if mark else comment or ""


def split_mark(comment: str) -> tuple[str, str]:
    """(comment as people see it, mark or "")."""
    match = _MARK.search(comment)
    return (comment[: match.start()], match[1]) if match else (comment, "")
