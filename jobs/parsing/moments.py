"""Moments and spans as sbatch reads them: begin, deadline, and times that are counted in seconds."""

from __future__ import annotations

import datetime as dt
import re

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.parsing.refusal import Refusal
from jobs.parsing.time_limit import LONGEST, seconds_of
from portal.lib import clock

FORMS = gettext_lazy("Write for example now+2hours, 18:30, tomorrow, 2027-01-31 or 2027-01-31T18:30.")
_UNITS = {  # the first that fits counts, as in Slurm's own list
    "seconds": 1,
    "second": 1,
    "minutes": 60,
    "minute": 60,
    "hours": 3600,
    "hour": 3600,
    "days": 86400,
    "day": 86400,
    "weeks": 604800,
    "week": 604800,
}
_DELTA = re.compile(
    r"now\s*(?:(?P<sign>[+-])\s*(?P<count>[\d\s]+?)\s*(?P<unit>[a-z]*))?", re.ASCII | re.IGNORECASE
)
_EPOCH = re.compile(r"uts(\d{7,12})", re.ASCII | re.IGNORECASE)
_DAYS = {"today": 0, "tomorrow": 1}
_HOURS = {"midnight": 0, "noon": 12, "elevenses": 11, "fika": 15, "teatime": 16}
_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)", re.ASCII)
_AMERICAN = re.compile(r"(?P<month>\d{1,2})[./]?(?P<day>\d{1,2})(?:[./]?(?P<year>\d\d))?", re.ASCII)
_TIME = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[ap]m)?", re.ASCII | re.IGNORECASE
)


def parse_moment(text: str) -> int | None:
    """Epoch seconds, or None for blank. A time without a zone is in the reader's own. Raises Refusal."""
    word = text.strip()
    if not word:
        return None
    if match := _EPOCH.fullmatch(word):
        return int(match[1])
    now = clock.now().astimezone(timezone.get_current_timezone())
    if match := _DELTA.fullmatch(word):
        return int((now + _delta(match)).timestamp())
    try:
        return int(_calendar(word, now).timestamp())
    except (ValueError, OverflowError) as error:
        raise _refusal() from error


def _refusal() -> Refusal:
    return Refusal(_("This is not a moment. %(forms)s") % {"forms": FORMS})


def _delta(match: re.Match[str]) -> dt.timedelta:
    if match["sign"] is None:
        return dt.timedelta()
    unit = match["unit"].lower()
    if unit and unit not in _UNITS:
        raise _refusal()
    seconds = int("".join(match["count"].split())) * _UNITS.get(unit, 1)
    if seconds > LONGEST * 60:
        raise _refusal()
    return dt.timedelta(seconds=seconds if match["sign"] == "+" else -seconds)


def _calendar(word: str, now: dt.datetime) -> dt.datetime:
    """A day, a time, or both. A time alone is its next one; a day without a year is its next one."""
    day: dt.date | None = None
    moment: dt.time | None = None
    has_year = True
    rest = word
    while rest := rest.lstrip(" \t-T"):
        lower = rest.lower()
        named = next((name for name in (*_DAYS, *_HOURS) if lower.startswith(name)), "")
        if named in _DAYS:
            day = (now + dt.timedelta(days=_DAYS[named])).date()
        elif named:
            moment = dt.time(_HOURS[named])
        elif match := _TIME.match(rest):
            moment, named = _time(match), match[0]
        elif match := _DATE.match(rest) or _AMERICAN.match(rest):
            day, has_year, named = *_date(match, now), match[0]
        else:
            raise _refusal()
        rest = rest[len(named) :]
    return _next(day, moment, now, has_year=has_year)


def _date(match: re.Match[str], now: dt.datetime) -> tuple[dt.date, bool]:
    year = match["year"]
    full = now.year if year is None else int(year) + (2000 if len(year) == 2 else 0)
    return dt.date(full, int(match["month"]), int(match["day"])), year is not None


def _time(match: re.Match[str]) -> dt.time:
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        if hour > 12:
            raise _refusal()
        hour = hour % 12 + (12 if half == "pm" else 0)
    return dt.time(hour, int(match["minute"]), int(match["second"] or 0))


def _next(day: dt.date | None, moment: dt.time | None, now: dt.datetime, *, has_year: bool) -> dt.datetime:
    if day is None and moment is None:
        raise _refusal()
    time = moment or dt.time()
    if day is None:
        is_later = (time.hour, time.minute) > (now.hour, now.minute)
        day = (now if is_later else now + dt.timedelta(days=1)).date()
    chosen = dt.datetime.combine(day, time, tzinfo=now.tzinfo)
    if not has_year and chosen < now:
        chosen = chosen.replace(year=chosen.year + 1)
    return chosen


def parse_seconds(text: str) -> int | None:
    """Seconds of a span written as a time limit is (10 is ten minutes), or None for blank. Raises Refusal."""
    word = text.strip()
    if not word:
        return None
    seconds = seconds_of(word)
    if seconds is None or seconds > LONGEST * 60:
        raise Refusal(_("Write minutes (90), m:ss, h:mm:ss or days-hours."))
    return seconds


def show_moment(epoch: int) -> str:
    """For people, with the zone: 2027-01-31 18:30:00 UTC."""
    return f"{dt.datetime.fromtimestamp(epoch, timezone.get_current_timezone()):%Y-%m-%d %H:%M:%S %Z}"
