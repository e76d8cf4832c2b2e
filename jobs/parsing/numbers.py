"""Numbers as the reader's language writes them."""

from __future__ import annotations

from django.utils.formats import number_format


def grouped(number: int) -> str:
    """10,000 in English, 10.000 in German."""
    return number_format(number, force_grouping=True)
