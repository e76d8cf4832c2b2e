"""Usage as a file: a line for each day, cluster, member, account and partition; made a week at a time."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clusters.models import Cluster
from jobs.usage import counting
from jobs.usage.counting import Question, Row
from jobs.usage.spans import Span
from portal.lib.cells import csv_line
from tenants.models import User
from tenants.rights import Action, may

HEAD = ("day", "cluster", "member", "user_name", "account", "partition", "jobs", "gpu_hours", "cpu_hours")


def as_csv(asked: Question) -> Iterator[bytes]:
    """Whole lines, in chunks; always the same words. Money only for whom the page shows it."""
    actor = asked.actor
    shows_money = may(actor, Action.ORDER)
    yield csv_line([*HEAD, "cost"] if shows_money else HEAD).encode()
    clusters = dict(Cluster.objects.for_actor(actor).values_list("pk", "name"))
    for week in asked.span.weeks():
        rows = counting.lines(replace(asked, span=week))
        members = User.objects.in_bulk({row.owner for row in rows if row.owner is not None})
        yield "".join(
            csv_line(_cells(row, clusters, members, shows_money=shows_money)) for row in rows
        ).encode()


def _cells(
    row: Row, clusters: Mapping[uuid.UUID, str], members: Mapping[Any, User], *, shows_money: bool
) -> list[object]:
    amount = row.amount
    cells: list[object] = [
        row.day,
        clusters.get(row.cluster, "") if row.cluster else "",
        members.get(row.owner, ""),
        *(row.user_name, row.account, row.partition, amount.jobs),
        *(f"{amount.gpu_hours:.4f}", f"{amount.cpu_hours:.4f}"),
    ]
    return [*cells, amount.cost] if shows_money else cells


def name_of(tenant: str, span: Span) -> str:
    """usage-aurora-20260101-20260131.csv"""
    return f"usage-{tenant}-{span.first:%Y%m%d}-{span.last:%Y%m%d}.csv"
