"""Places in a list that is ordered by a moment and an id, so that page 100 costs what page 1 does."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Final

from django.db.models import BooleanField, F, Func, Q, Value
from django.db.models.expressions import Combinable

# What a page shows of a list: a screen or two, so that one of a long list feels like one of a short list.
ROWS: Final = 20


def write(at: dt.datetime, key: uuid.UUID) -> str:
    """The place behind a row, for an address."""
    return f"{at.isoformat()}~{key.hex}"


def behind(text: str, column: str) -> Q:
    """Rows behind that place in the order `-column, -pk`; all rows for anything that is no place."""
    try:
        at, key = text.split("~")
        moment, row = dt.datetime.fromisoformat(at), uuid.UUID(key)
    except ValueError:
        return Q()
    if moment.tzinfo is None:
        return Q()
    return Q(**{f"{column}__lt": moment}) | Q(**{column: moment, "pk__lt": row})


class _Row(Func):
    """Several columns as one value, which an index over them all can compare."""

    template = "ROW(%(expressions)s)"


def beyond(columns: Sequence[Combinable | str], values: Sequence[Value], *, descending: bool) -> Func:
    """Whether a row lies behind these values in the order of the columns, which all go one way."""
    row = _Row(*(F(column) if isinstance(column, str) else column for column in columns))
    sign = " < " if descending else " > "
    return Func(
        row, _Row(*values), template="(%(expressions)s)", arg_joiner=sign, output_field=BooleanField()
    )
