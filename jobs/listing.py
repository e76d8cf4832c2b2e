"""Lists of jobs in pages by keyset, so that the last page costs what the first does.

Pages show lines: an array or a het job is one. Programs may ask for each job instead.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import CharField, DateTimeField, F, IntegerField, Q, Sum, UUIDField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Left

from clusters.models import Cluster
from jobs.filters import STATES, WAITING, Filter
from jobs.models import ACTIVE_STATES, AT_WORK_STATES, ENDED_STATES, NAME_SORTED, Job
from portal.lib import keyset
from portal.lib.keyset import ROWS
from tenants.actor import Actor
from tenants.scoping import TenantQuerySet

# what comes first in a list: at work, then waiting, then the rest
SEGMENTS: tuple[tuple[str, ...], ...] = (AT_WORK_STATES, WAITING, ENDED_STATES)
_TIME_AND_KEY = ("submit_time", "id")
_LARGEST = 2**31


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows and where the next ones begin; "" at the end."""

    rows: list[Job] = field(default_factory=list)
    after: str = ""


def list_jobs(
    actor: Actor, wanted: Filter, *, after: str = "", size: int = ROWS, folded: bool = True
) -> Page:
    """Jobs of the actor's tenant, as filtered: at work first, then waiting, then the latest that ended.

    With `wanted.sort` in that order instead. `folded`: an array and a het job are one line.
    """
    rows = Job.objects.for_actor(actor).select_related("cluster", "owner")
    if not wanted.everyone:
        rows = rows.filter(owner=actor.user)
    if wanted.cluster is not None:
        rows = rows.filter(cluster_id=wanted.cluster)
    rows = _narrowed(rows, actor, wanted, folded=folded)
    if wanted.sort:
        return _sorted_page(rows, wanted.sort, after, size)
    return _page(rows, SEGMENTS, "line_state" if folded else "state", after, size)


def list_queue(
    actor: Actor,
    cluster: Cluster,
    wanted: Filter | None = None,
    *,
    after: str = "",
    size: int = ROWS,
    folded: bool = True,
) -> Page:
    """What has not ended in a cluster, everyone's."""
    wanted = wanted or Filter(everyone=True)
    state = "line_state" if folded else "state"
    rows = Job.objects.for_actor(actor).filter(cluster=cluster, **{f"{state}__in": ACTIVE_STATES})
    rows = _narrowed(rows.select_related("cluster", "owner"), actor, wanted, folded=folded)
    if wanted.sort:
        return _sorted_page(rows, wanted.sort, after, size)
    return _page(rows, SEGMENTS[:2], state, after, size)


def add_sets(rows: Iterable[Job]) -> None:
    """GPUs of a het job's line are those of all its parts; for rows that were found through the door."""
    sets = {(row.cluster_id, row.het_job_id): row for row in rows if row.het_job_id and row.group_states}
    if not sets:
        return
    found = Job.objects.filter(
        cluster_id__in={cluster for cluster, _ in sets}, het_job_id__in={number for _, number in sets}
    )
    for cluster, number, gpus in (
        found.values_list("cluster_id", "het_job_id").annotate(all=Sum("gpus")).order_by()
    ):
        if row := sets.get((cluster, number)):
            row.gpus = gpus


def _narrowed(
    rows: TenantQuerySet[Job], actor: Actor, wanted: Filter, *, folded: bool
) -> TenantQuerySet[Job]:
    """By all that the filter names but cluster and whose."""
    rows = rows.filter(_named(actor, wanted.text, folded=folded), **_columns(wanted))
    if wanted.user:
        rows = rows.filter(owner_id=wanted.person) if wanted.person else rows.filter(user_name=wanted.user)
    if wanted.partition:
        rows = rows.filter(partition__in=texts_with(actor, wanted.partition))
    if wanted.gpus:
        rows = rows.filter(gpus__gt=0) if wanted.gpus == "with" else rows.filter(Q(gpus=None) | Q(gpus=0))
    if states := STATES.get(wanted.state):
        # one of the tasks is enough
        within = Q(line_state__in=states) | Q(group_states__has_any_keys=list(states))
        rows = rows.filter(within if folded else Q(state__in=states))
    return rows


def texts_with(actor: Actor, partition: str) -> list[str]:
    """What jobs say that may run in this partition: its name, or several with commas between."""
    rows = Job.objects.for_actor(actor).filter(is_line=True, partition__contains=",")
    several = rows.order_by().values_list("partition", flat=True).distinct()
    return [partition, *(text for text in several if partition in text.split(","))]


def _columns(wanted: Filter) -> dict[str, object]:
    found = {
        "account": wanted.account,
        "submit_time__gte": wanted.since_at,
        "submit_time__lt": wanted.until_at,
    }
    return {name: value for name, value in found.items() if value}


def _named(actor: Actor, text: str, *, folded: bool) -> Q:
    """By a part of the name, or by id: then also a task that stands behind its array's line."""
    lines = Q(is_line=True) if folded else Q()
    if not text:
        return lines
    named = lines & Q(name__icontains=text)
    number, _, task = text.partition("_")
    if not is_number(number) or (task and not is_number(task)):
        return named
    if task:
        ids = Q(array_job_id=int(number), array_task_id=int(task))
    else:
        ids = Q(slurm_job_id=int(number)) | lines & (Q(array_job_id=int(number)) | Q(het_job_id=int(number)))
    clusters = list(Cluster.objects.for_actor(actor).values_list("pk", flat=True))  # for the indexes of ids
    return named | Q(cluster__in=clusters) & ids


def is_number(text: str) -> bool:
    """A number that fits into an id."""
    return text.isascii() and text.isdigit() and len(text) < 19


def _page(
    rows: TenantQuerySet[Job], segments: Sequence[tuple[str, ...]], state: str, after: str, size: int
) -> Page:
    """By what they are at, each part with the newest first."""
    place = _read_cursor(after)
    start = _segment(place, len(segments))
    found: list[tuple[int, Job]] = []
    for number in range(start, len(segments)):
        if len(found) > size:
            break
        part = rows.filter(**{f"{state}__in": segments[number]})
        if number == start and place:
            part = part.filter(keyset.beyond(_TIME_AND_KEY, _time_and_key(place), descending=True))
        ordered = part.order_by("-submit_time", "-id")[: size + 1 - len(found)]
        found += [(number, row) for row in ordered]
    shown = found[:size]
    if len(found) <= size or not shown:
        return Page([row for _, row in shown])
    last, row = shown[-1]
    return Page([row for _, row in shown], _write_cursor(last, row))


def _sorted_page(rows: TenantQuerySet[Job], sort: str, after: str, size: int) -> Page:
    """By one key, then by when it was submitted: each key has an index that ends so."""
    place = _read_cursor(after)
    descending = sort.startswith("-")
    key = sort.lstrip("-")
    first: dict[str, Combinable] = {
        "name": Left("name", NAME_SORTED),
        "gpus": Coalesce(F("gpus"), Value(0)),
    }
    columns: list[Combinable] = [*([first[key]] if key in first else []), F("submit_time"), F("id")]
    if place and (values := _key_value(key, place)) is not None:
        rows = rows.filter(keyset.beyond(columns, [*values, *_time_and_key(place)], descending=descending))
    order = [column.desc() if descending else column.asc() for column in columns]  # type: ignore[attr-defined]
    found = list(rows.order_by(*order)[: size + 1])
    if len(found) <= size:
        return Page(found)
    last = found[size - 1]
    return Page(
        found[:size], _write_cursor(last.name[:NAME_SORTED] if key == "name" else last.gpus or 0, last)
    )


def _key_value(key: str, place: list[Any]) -> list[Value] | None:
    """The value before time and id; None for a cursor of another order."""
    value = place[0]
    if key == "name":
        is_name = isinstance(value, str) and "\0" not in value
        return [Value(value, CharField())] if is_name else None
    if not isinstance(value, int) or not 0 <= value < _LARGEST:
        return None
    return [Value(value, IntegerField())] if key == "gpus" else []


def _segment(place: list[Any], count: int) -> int:
    if not place or not isinstance(place[0], int):
        return 0
    return min(max(place[0], 0), count - 1)


def _time_and_key(place: list[Any]) -> list[Value]:
    return [Value(place[1], DateTimeField()), Value(place[2], UUIDField())]


def _write_cursor(value: object, row: Job) -> str:
    text = json.dumps([value, row.submit_time.isoformat(), row.pk.hex], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(text: str) -> list[Any]:
    """Where to go on: a value, a moment and an id; empty for the beginning and for what is no cursor."""
    try:
        padded = text.encode() + b"=" * (-len(text) % 4)
        value, at, key = json.loads(base64.urlsafe_b64decode(padded))
        moment = dt.datetime.fromisoformat(at)
        if isinstance(value, bool | float | None) or moment.tzinfo is None:
            return []
        return [value, moment, uuid.UUID(key)]
    except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError):
        return []
