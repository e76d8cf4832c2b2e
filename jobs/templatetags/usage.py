"""What the templates about usage need besides their context."""

from __future__ import annotations

from django import template
from django.utils.formats import number_format

from clusters.sentences import told
from jobs.history.models import JobUse
from jobs.usage.advice import advice_of

register = template.Library()
NOTHING = "\N{EN DASH}"


@register.filter
def percent(value: float | None) -> str:
    """A share as people read it: 3.4 %, 57 %."""
    if value is None:
        return NOTHING
    return f"{number_format(value, 1 if value < 10 else 0)}\N{NO-BREAK SPACE}%"


@register.filter
def hours(value: float | None) -> str:
    """Hours with one place."""
    return NOTHING if value is None else number_format(value, 1, force_grouping=True)


@register.filter
def stored(sentence: str) -> str:
    """What a worker stored in English, in the reader's language."""
    return told(sentence)


@register.filter
def advice(use: JobUse) -> list[str]:
    """What to ask for next time."""
    return advice_of(use)
