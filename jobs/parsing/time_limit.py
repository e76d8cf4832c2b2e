"""Time limits in all of sbatch's forms."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.clients.slurmrest.models import UNLIMITED, Limit, Unlimited
from jobs.parsing.refusal import Refusal

LONGEST = 10 * 366 * 24 * 60  # minutes; ten years
FORMS = gettext_lazy("Write minutes (90), h:mm:ss (1:30:00), days-hours (1-12), d-h:mm:ss or UNLIMITED.")

_DAYS = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_PLAIN = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)


def parse_time_limit(text: str) -> Limit:
    """Minutes, UNLIMITED or None for blank; seconds round up, and 0 is no limit, as with sbatch.

    Raises Refusal.
    """
    word = text.strip()
    if not word:
        return None
    if word.upper() in {"UNLIMITED", "INFINITE"}:
        return UNLIMITED
    seconds = seconds_of(word)
    if seconds is None:
        raise Refusal(_("This is not a time limit. %(forms)s") % {"forms": FORMS})
    minutes = -(-seconds // 60)
    if minutes > LONGEST:
        raise Refusal(_("At most 3660 days. Write UNLIMITED for no limit."))
    return minutes or UNLIMITED


def seconds_of(word: str) -> int | None:
    """Of a text in one of the forms; None for any other."""
    if match := _DAYS.fullmatch(word):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _PLAIN.fullmatch(word):
        first, second, third = match.groups()
        if third is not None:  # h:m:s
            return (int(first) * 60 + int(second)) * 60 + int(third)
        return int(first) * 60 + int(second or 0)  # minutes, or m:s
    return None


def show_time_limit(limit: Limit) -> str:
    """For people, in a form that parse_time_limit reads again: 1-02:30:00, 0:45:00, UNLIMITED, blank."""
    if limit is None:
        return ""
    if isinstance(limit, Unlimited):
        return "UNLIMITED"
    days, rest = divmod(limit, 24 * 60)
    hours, minutes = divmod(rest, 60)
    return f"{days}-{hours:02}:{minutes:02}:00" if days else f"{hours}:{minutes:02}:00"
