"""Money, sizes and months in templates."""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from clusters import lines, sentences, words
from clusters.models import Order, OrderKind
from clusters.reasons import sentence_of
from clusters.services.order_checks import HOURS_PER_MONTH

register = template.Library()
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


@register.filter
def money(amount: Decimal | float | None, currency: str = "EUR") -> str:
    """€ 1,234.50, or as the reader's language writes it: 1.234,50 €."""
    return "\u2013" if amount is None else _money(amount, currency, get_language())


@functools.lru_cache(maxsize=512)
def _money(amount: Decimal | float, currency: str, _language: str | None) -> str:
    """Every row of a list has a price, and few differ."""
    told = {"sign": SIGNS.get(currency, currency), "amount": number_format(amount, 2, force_grouping=True)}
    return (pgettext("money", "%(sign)s %(amount)s") % told).replace(" ", "\u00a0")


@register.filter
def per_month(amount: Decimal) -> Decimal:
    """An hourly price over 730 hours."""
    return amount * HOURS_PER_MONTH


@register.filter
def kind_word(order: Order) -> str:
    """The order's kind; in a list much cheaper than Django's display, which translates every choice."""
    return str(OrderKind(order.kind).label)


@register.filter
def state_word(order: Order) -> str:
    """The order's state as it reads for its kind; empty where the usual word fits."""
    return lines.state_word(order)


@register.filter
def told(stored: str) -> str:
    """A sentence that a worker stored, in the reader's language."""
    return sentences.told(stored)


@register.filter
def signed(number: Decimal | int) -> str:
    """+2, -1"""
    return f"{'+' if number >= 0 else ''}{number_format(number, force_grouping=True)}"


@register.filter
def gib(mebibytes: int) -> str:
    """MiB as GiB, to four digits: 65536 is 64."""
    value = float(f"{mebibytes / 1024:.4g}")
    return str(number_format(int(value) if value.is_integer() else value, force_grouping=True))


@register.filter
def decision_note(order: Order) -> str:
    """What was written at the decision; a policy in the reader's language."""
    return words.note_of(order)


@register.filter
def nodes_ready(cluster: Any) -> str:
    """1/2; while a pool shrinks: 2, going down to 1. Of a cluster with figures."""
    if cluster.nodes_up > cluster.nodes_wanted:
        told = {"up": cluster.nodes_up, "wanted": cluster.nodes_wanted}
        return _("%(up)d, going down to %(wanted)d") % told
    return f"{cluster.nodes_up}/{cluster.nodes_wanted}"


@register.filter
def phrase(stored: str) -> str:
    """A label as it reads within a sentence."""
    return words.in_a_sentence(stored)


@register.filter
def reason_words(reason: str) -> str:
    """What a reason means, in a sentence; the reason itself where nobody described it."""
    return sentence_of(reason) or reason
