"""Numbers as each language writes them."""

from __future__ import annotations

import pytest
from django.utils import translation

from jobs.parsing.numbers import grouped, short


@pytest.mark.parametrize(
    ("language", "thousand", "sizes"),
    [("en", "10,000", ["5.34", "1020", "31.5", "2"]), ("de", "10.000", ["5,34", "1020", "31,5", "2"])],
)
def test_separators_are_those_of_the_language(language: str, thousand: str, sizes: list[str]) -> None:
    with translation.override(language):
        assert grouped(10_000) == thousand
        assert [short(number) for number in (5.3412, 1022.6, 31.49, 2.0)] == sizes
