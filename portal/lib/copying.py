"""Adds many rows at once by PostgreSQL's COPY: a fifth of what the same INSERT costs here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from django.db import connection, models

Reader = Callable[[models.Model], Any]


def add_rows(rows: Sequence[models.Model]) -> None:
    """As bulk_create of one model's new rows; generated columns and numbers are not read back.

    Values are of their columns' types already. Raises IntegrityError as an INSERT does. Needs an open
    transaction where it is one of several steps.
    """
    if not rows:
        return
    command, readers = _plan(type(rows[0]))
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(command) as copy:
        for row in rows:
            copy.write_row([read(row) for read in readers])
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001  # as Model.save does


@cache
def _plan(model: type[models.Model]) -> tuple[str, list[Reader]]:
    """The command, and what gives the value of each of its columns."""
    meta = model._meta  # noqa: SLF001  # the documented way to a model's fields
    fields = [field for field in meta.local_concrete_fields if not _is_of_database(field)]
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    command = f"COPY {connection.ops.quote_name(meta.db_table)} ({names}) FROM STDIN"
    return command, [_reader(field) for field in fields]


def _is_of_database(field: models.Field[Any, Any]) -> bool:
    return field.generated or isinstance(field, models.AutoField)


def _reader(field: models.Field[Any, Any]) -> Reader:
    if isinstance(field, models.JSONField):
        return lambda row: _json(getattr(row, field.attname))
    if getattr(field, "auto_now_add", False):
        return lambda row: field.pre_save(row, add=True)
    return attrgetter(field.attname)


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value)
