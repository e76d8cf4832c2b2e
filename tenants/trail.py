"""Reading the audit trail: filters, pages that follow the key, and exports that stream."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass

from channels.db import database_sync_to_async
from django.conf import settings
from django.db.models import Q
from django.utils import translation

from portal.lib import cells, clock
from portal.lib.keyset import ROWS
from portal.lib.types import JSONDict
from tenants.audit import words_of
from tenants.models import AuditEvent
from tenants.scoping import TenantQuerySet

BATCH = 500  # rows in memory while an export streams
HEAD = (
    *("id", "at", "who", "kind", "did", "verb", "what", "type", "what_id", "details"),
    *("from", "through", "request", "tenant"),
)
Rows = TenantQuerySet[AuditEvent]


@dataclass(frozen=True, slots=True)
class Filter:
    """What to look for; empty fields ask for everything. Days are in UTC, the last one is whole."""

    q: str = ""  # in name, thing or verb
    who: str = ""  # part of name, issuer or subject as they were then
    verb: str = ""  # order.approved, or all of an area: order
    target: str = ""  # part of the thing's name, or its id
    tenant: str = ""  # slug; for operators
    since: dt.date | None = None
    until: dt.date | None = None

    def of(self, rows: Rows) -> Rows:
        """The rows that fit, the newest first."""
        for name, make in _CONDITIONS.items():
            if value := getattr(self, name):
                rows = rows.filter(make(value))
        return rows.order_by("-id")

    def facts(self) -> dict[str, str]:
        """What was asked for, for the audit row of an export."""
        return {name: str(value) for name, value in asdict(self).items() if value}


def _area(verb: str) -> Q:
    return Q(verb=verb) if "." in verb else Q(verb__startswith=f"{verb}.")


def _start(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)


_CONDITIONS: dict[str, Callable[..., Q]] = {
    "q": lambda q: (
        Q(actor_label__icontains=q)
        | Q(target_label__icontains=q)
        | Q(verb__icontains=q)
        | Q(target_id=q)
        | Q(request_id=q)
        | Q(tenant__slug=q)
    ),
    "who": lambda who: Q(actor_label__icontains=who),
    "verb": _area,
    "target": lambda target: Q(target_label__icontains=target) | Q(target_id=target),
    "tenant": lambda slug: Q(tenant__slug=slug),
    "since": lambda day: Q(at__gte=_start(day)),
    "until": lambda day: Q(at__lt=_start(day) + dt.timedelta(days=1)),
}


@dataclass(frozen=True, slots=True)
class Page:
    """Events after a key, and the key after which the next page begins."""

    events: list[AuditEvent]
    older: int | None


def page_of(rows: Rows, before: str) -> Page:
    """The page that begins after the key `before`; the newest for anything that is no key."""
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: ROWS + 1])
    return Page(found[:ROWS], found[ROWS - 1].pk if len(found) > ROWS else None)


def stream(rows: Rows, form: str, *, up_to: int) -> Iterator[bytes]:
    """All rows up to a key as CSV or as JSON lines, in chunks; never more than a batch is held."""
    chunk_of = _csv_chunk if form == "csv" else _json_chunk
    if form == "csv":
        yield cells.csv_line(HEAD).encode()
    rows, key = rows.select_related("tenant"), up_to + 1
    while batch := list(rows.filter(pk__lt=key)[:BATCH]):
        with translation.override(settings.LANGUAGE_CODE):  # a file is for programs: always the same words
            chunk = chunk_of(batch)
        yield chunk.encode()
        key = batch[-1].pk


async def in_async(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same for ASGI, where a plain iterator would be read to its end before the first byte leaves.

    Between two chunks the database's connection is given back: a slow reader holds none.
    """
    step = database_sync_to_async(lambda: next(chunks, None))
    while (chunk := await step()) is not None:
        yield chunk


def newest_of(rows: Rows) -> int:
    """The key of the newest event; 0 where there is none."""
    return rows.order_by("-id").values_list("pk", flat=True).first() or 0


def file_name(what: str, form: str) -> str:
    """audit-aurora-20260131.csv"""
    return f"audit-{what}-{clock.now():%Y%m%d}.{'csv' if form == 'csv' else 'jsonl'}"


def _facts(row: AuditEvent) -> JSONDict:
    return {
        "id": row.pk,
        "at": row.at.isoformat(),
        "who": row.actor_label,
        "kind": row.actor_kind,
        "did": words_of(row.verb),
        "verb": row.verb,
        "what": row.target_label,
        "type": row.target_type,
        "what_id": row.target_id,
        "details": row.detail,
        "from": row.address,
        "through": row.via,
        "request": row.request_id,
        "tenant": row.tenant.slug if row.tenant else None,
    }


def _json_chunk(batch: list[AuditEvent]) -> str:
    return "".join(f"{json.dumps(_facts(row), ensure_ascii=False)}\n" for row in batch)


def _csv_chunk(batch: list[AuditEvent]) -> str:
    return "".join(cells.csv_line(_cells(_facts(row))) for row in batch)


def _cells(facts: JSONDict) -> Iterator[str]:
    for value in facts.values():
        if isinstance(value, dict):
            yield json.dumps(value, ensure_ascii=False) if value else ""
        else:
            yield "" if value is None else str(value)
