"""Numbers as the reader's language writes them."""

from __future__ import annotations

from decimal import Decimal

from django.utils.formats import number_format


def grouped(number: int) -> str:
    """10,000 in English, 10.000 in German."""
    return number_format(number, force_grouping=True)


def short(number: float) -> str:
    """To three digits: 5.34 in English, 5,34 in German."""
    return number_format(Decimal(f"{number:.3g}"))
