"""Writes changed columns of many rows by one statement: a CASE for each costs thirty times as much."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import msgspec
from django.db import connection

from jobs.models import Job

BATCH = 2_000  # rows of one statement
_UPDATE = """
UPDATE jobs_job AS job SET {changes}
FROM jsonb_to_recordset(%s::jsonb) AS told(id uuid, {types}) WHERE job.id = told.id
"""


def update_rows(rows: Iterable[Job], columns: Sequence[str]) -> None:
    """As `bulk_update`; `columns` are no foreign keys. Needs an open transaction."""
    types = {field.attname: field.db_type(connection) for field in Job._meta.concrete_fields}  # noqa: SLF001
    statement = _UPDATE.format(
        changes=", ".join(f'"{name}" = told."{name}"' for name in columns),
        types=", ".join(f'"{name}" {types[name]}' for name in columns),
    )
    rest = iter(rows)
    while batch := list(itertools.islice(rest, BATCH)):
        told = [{"id": row.pk, **{name: getattr(row, name) for name in columns}} for row in batch]
        with connection.cursor() as cursor:
            cursor.execute(statement, [msgspec.json.encode(told).decode()])
