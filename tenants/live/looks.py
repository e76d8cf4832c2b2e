"""What sockets ask of the database, many at once: who they are now, what they may see, what changed."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import models

from tenants.actor import Actor
from tenants.live.fragments import Fragment, Seeing, render_all
from tenants.live.registry import KINDS, LiveKind
from tenants.live.topics import Topic, versions_of
from tenants.live.viewer import Who, actors_now
from tenants.rights import may
from tenants.scoping import find_visible

Rows = Mapping[tuple[str, uuid.UUID, uuid.UUID], models.Model]  # by kind, tenant's key and own key


@dataclass(slots=True)
class Subscription:
    """One topic of the page, and the version that the page shows."""

    known: LiveKind
    topic: Topic
    version: int


@dataclass(frozen=True, slots=True)
class Join:
    """A page opens its socket: (kind, id, version shown) of each topic it wants."""

    who: Who
    wanted: Sequence[tuple[str, uuid.UUID, int]]


@dataclass(frozen=True, slots=True)
class Joined:
    """The role, None for who may not enter, and the topics whose object may be seen."""

    role: str | None = None
    found: Sequence[Subscription] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """A delivery is due, or a look at the right alone. `role` is that of the last look."""

    who: Who
    language: str
    role: str | None
    everything: Sequence[Subscription]
    due: Sequence[Subscription]


@dataclass(frozen=True, slots=True)
class Seen:
    """The role now, None when the right is gone; what to send; the names of topics that are gone."""

    role: str | None = None
    sent: Sequence[str] = ()
    lost: Sequence[str] = ()


def join_all(asked: Sequence[Join]) -> list[Joined | Exception]:
    """Which of the wanted topics each socket may hear of."""
    actors = actors_now([one.who for one in asked])
    rows = _rows(
        (KINDS[kind], actors[one.who], key)
        for one in asked
        for kind, key, _ in one.wanted
        if kind in KINDS and one.who in actors
    )
    return [_joined(one, actors.get(one.who), rows) for one in asked]


def _joined(asked: Join, actor: Actor | None, rows: Rows) -> Joined:
    if actor is None:
        return Joined()
    found = []
    for kind, key, version in asked.wanted:
        row = _row(rows, KINDS[kind], actor, key) if kind in KINDS else None
        if row is not None:
            found.append(Subscription(KINDS[kind], KINDS[kind].topic(row), version))
    return Joined(actor.role, found)


@dataclass(slots=True)
class _Case:
    """One look under way, of somebody who may still enter."""

    asked: Look
    actor: Actor
    changed: list[Subscription] = field(default_factory=list)
    fragments: list[Fragment] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def same_role(self) -> bool:
        return self.actor.role == self.asked.role

    @property
    def due(self) -> Sequence[Subscription]:
        """With another role all of it looks different."""
        return self.asked.due if self.same_role else self.asked.everything


def look_all(asked: Sequence[Look]) -> list[Seen | Exception]:
    """Rights first, then what changed: all that is sent was allowed at the beginning of this look.

    1. read sessions, people, identities and memberships afresh,
    2. read the versions before the rows, so that a change in between is only shown once more,
    3. find the rows through the door,
    4. render each fragment once for all who see the same.
    """
    actors = actors_now([one.who for one in asked])
    cases = {place: _Case(one, actors[one.who]) for place, one in enumerate(asked) if one.who in actors}
    versions = versions_of({each.topic for case in cases.values() for each in case.due})
    for case in cases.values():
        case.changed = [
            each for each in case.due if not case.same_role or versions[each.topic.name] > each.version
        ]
    rows = _rows(
        (each.known, case.actor, each.topic.object_id) for case in cases.values() for each in case.changed
    )
    seeing = Seeing()
    for case in cases.values():
        _prepare(case, rows, versions, seeing)
    html = render_all([fragment for case in cases.values() for fragment in case.fragments])
    return [_seen(cases[place], html) if place in cases else Seen() for place in range(len(asked))]


def _prepare(case: _Case, rows: Rows, versions: Mapping[str, int], seeing: Seeing) -> None:
    for each in case.changed:
        row = _row(rows, each.known, case.actor, each.topic.object_id)
        each.version = versions[each.topic.name]
        if row is None:
            case.lost.append(each.topic.name)
        else:
            case.fragments.append(
                seeing.fragment(each.known, case.actor, row, each.version, case.asked.language)
            )


def _seen(case: _Case, html: Mapping[str, str | Exception]) -> Seen | Exception:
    sent = []
    for fragment in case.fragments:
        text = html[fragment.key]
        if isinstance(text, Exception):
            return text
        sent.append(text)
    return Seen(case.actor.role, sent, case.lost)


def _rows(needs: Iterable[tuple[LiveKind, Actor, uuid.UUID]]) -> Rows:
    """One query for each kind, tenant and role: visibility depends on nothing else (`for_actor`)."""
    groups: dict[tuple[str, uuid.UUID, str | None], tuple[Actor, set[uuid.UUID]]] = {}
    for known, actor, key in needs:
        assert actor.tenant is not None  # noqa: S101  # actors_now saw to it
        group = groups.setdefault((known.kind, actor.tenant.pk, actor.role), (actor, set()))
        group[1].add(key)
    found: dict[tuple[str, uuid.UUID, uuid.UUID], models.Model] = {}
    for (kind, tenant, _), (actor, keys) in groups.items():
        for key, row in find_visible(KINDS[kind].rows(), actor, keys).items():
            found[kind, tenant, key] = row
    return found


def _row(rows: Rows, known: LiveKind, actor: Actor, key: uuid.UUID) -> models.Model | None:
    """The row if it was found in the actor's tenant and the role suffices."""
    if actor.tenant is None or not may(actor, known.action):
        return None
    return rows.get((known.kind, actor.tenant.pk, key))
