"""Topics: "this changed", with a version and never a payload."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection, transaction

from tenants.live import sender


@dataclass(frozen=True, slots=True)
class Topic:
    """Made only where the object was found through the one door, or by the command that changed it."""

    tenant_id: uuid.UUID
    kind: str  # a registered live kind, e.g. "order"
    object_id: uuid.UUID

    @property
    def name(self) -> str:
        """The group's name: [a-z0-9.-], at most 99 characters (channels_redis' limit is 100)."""
        return f"{self.tenant_id.hex}.{self.kind}.{self.object_id.hex}"


def version_of(topic: Topic) -> int:
    """The topic's present version; 0 before the first change."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM tenants_topicversion WHERE topic = %s", [topic.name])
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def versions_of(topics: Iterable[Topic]) -> dict[str, int]:
    """The present versions by topic name; 0 before the first change."""
    names = [topic.name for topic in topics]
    if not names:
        return {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT topic, version FROM tenants_topicversion WHERE topic = ANY(%s)", [names])
        return dict.fromkeys(names, 0) | {name: int(version) for name, version in cursor.fetchall()}


def publish(topic: Topic) -> int:
    """Raise the version now, in the open transaction, and tell viewers on commit.

    A dead Redis never fails what was committed: viewers ask for the version every 30 s anyway.
    """
    return publish_all((topic,))[topic.name]


def publish_all(topics: Iterable[Topic], *, quiet: Iterable[Topic] = ()) -> dict[str, int]:
    """The same of several at once. Always in the same order, so that no two wait for each other's rows.

    Of `quiet` ones nobody is told: they are for pages that are hardly ever open, by the hundred.
    """
    told = {topic.name: topic for topic in topics}
    by_name = {topic.name: topic for topic in quiet} | told
    if not by_name:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tenants_topicversion (topic, version, changed_at)"
            " SELECT name, 1, now() FROM unnest(%s::text[]) AS name"
            " ON CONFLICT (topic) DO UPDATE"
            " SET version = tenants_topicversion.version + 1, changed_at = now()"
            " RETURNING topic, version",
            [sorted(by_name)],
        )
        versions = {str(name): int(version) for name, version in cursor.fetchall()}
    for name, topic in told.items():
        _tell(topic, versions[name])
    return versions


def _tell(topic: Topic, version: int) -> None:
    transaction.on_commit(lambda: _send(topic, version), robust=True)


def _send(topic: Topic, version: int) -> None:
    sender.put(topic.name, version)
