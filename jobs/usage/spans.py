"""Which days a question about usage is about, as it stands in the address."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.lib import clock

DAYS = 30  # where nothing is asked
MOST_DAYS = 366


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days, in UTC, the last one included."""

    first: dt.date
    last: dt.date

    @property
    def since(self) -> dt.datetime:
        """Its first moment."""
        return dt.datetime.combine(self.first, dt.time(), dt.UTC)

    @property
    def until(self) -> dt.datetime:
        """The first moment after it."""
        return dt.datetime.combine(self.last, dt.time(), dt.UTC) + dt.timedelta(days=1)

    @property
    def days(self) -> list[dt.date]:
        """Each of them."""
        return [self.first + dt.timedelta(days=n) for n in range((self.last - self.first).days + 1)]

    def weeks(self) -> list[Span]:
        """The same in parts of at most seven days."""
        return [Span(day, min(day + dt.timedelta(days=6), self.last)) for day in self.days[::7]]


def today() -> dt.date:
    """In UTC, as everything that is counted by day."""
    return clock.now().astimezone(dt.UTC).date()


def default() -> Span:
    """The last thirty days."""
    return Span(today() - dt.timedelta(days=DAYS - 1), today())


def checked(since: dt.date | None, until: dt.date | None) -> tuple[Span, str]:
    """The days that were asked for, and what is wrong with them; then the default."""
    last = until or today()
    first = since or last - dt.timedelta(days=DAYS - 1)
    if last < first:
        return default(), _("The last day lies before the first.")
    if (last - first).days >= MOST_DAYS:
        return default(), _("At most %(days)d days at once.") % {"days": MOST_DAYS}
    return Span(first, last), ""


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date", "class": "input"}, format="%Y-%m-%d")


class SpanForm(forms.Form):
    """First and last day."""

    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=_day())
    until = forms.DateField(label=gettext_lazy("To"), required=False, widget=_day())

    def clean(self) -> dict[str, Any]:
        """Days in their order, and not too many."""
        found: dict[str, Any] = super().clean() or {}
        _span, trouble = checked(found.get("since"), found.get("until"))
        if trouble:
            self.add_error("until", trouble)
        return found


def read(data: QueryDict) -> tuple[SpanForm, Span]:
    """The form, filled with the days that are shown, and these; the default where it is wrong or empty."""
    form = SpanForm(data)
    if not form.is_valid():
        return form, default()
    span, _trouble = checked(form.cleaned_data.get("since"), form.cleaned_data.get("until"))
    return SpanForm({"since": span.first, "until": span.last}), span
