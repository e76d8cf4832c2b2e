"""Money, sizes and months in templates."""

from __future__ import annotations

from decimal import Decimal

from django import template

from clusters import lines
from clusters.models import Order
from clusters.services.order_checks import HOURS_PER_MONTH

register = template.Library()
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


@register.filter
def money(amount: Decimal | float | None, currency: str = "EUR") -> str:
    """€ 1,234.50"""
    if amount is None:
        return "\u2013"
    return f"{SIGNS.get(currency, currency)}\u00a0{amount:,.2f}"


@register.filter
def per_month(amount: Decimal) -> Decimal:
    """An hourly price over 730 hours."""
    return amount * HOURS_PER_MONTH


@register.filter
def state_word(order: Order) -> str:
    """The order's state as it reads for its kind; empty where the usual word fits."""
    return lines.state_word(order)


@register.filter
def signed(number: Decimal | int) -> str:
    """+2, -1"""
    return f"{number:+,}"


@register.filter
def gib(mebibytes: int) -> str:
    """MiB as GiB: 65536 is 64."""
    return f"{mebibytes / 1024:,.4g}"
