"""Live kinds: how a topic becomes the fragment that page, poll and socket all show.

Upper layers register theirs in AppConfig.ready; tenants knows none of them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.utils.translation import get_language

from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.topics import Topic
from tenants.rights import Action
from tenants.scoping import TenantQuerySet


@dataclass(frozen=True, slots=True)
class LiveKind:
    """One kind of live region.

    `template` names a partial such as "clusters/order.html#steps" whose one root element carries
    `{% live kind row %}`; the page includes the same one.
    `context(actor, row)` gives its variables, which may depend on the actor's tenant and role and on
    nothing else (the fragment is shared by all viewers of that role), unless `per_user`. `as_of(row)`
    is when its facts were last looked at: the region is sent again when only that moved. Rows of which
    `watches(row)` is the same have the same moment. `variant(actor, row)` names all that differs between
    the persons of a role, where that is less than everything.
    """

    kind: str  # [a-z-]{1,20}
    rows: Callable[[], TenantQuerySet[Any]]
    template: str
    context: Callable[[Actor, Any], JSONDict]
    action: Action = Action.VIEW
    per_user: bool = False
    as_of: Callable[[Any], dt.datetime | None] | None = None
    variant: Callable[[Actor, Any], str] | None = None
    watches: Callable[[Any], Hashable] | None = None

    def topic(self, row: models.Model) -> Topic:
        """The topic of one row that was found through the door."""
        tenant_id = row.pk if row._meta.model_name == "tenant" else row.tenant_id  # type: ignore[attr-defined]  # noqa: SLF001
        return Topic(tenant_id, self.kind, row.pk)

    def audience(self, actor: Actor, row: models.Model) -> str:
        """What splits the viewers of one role: nothing, what `variant` says, or each person."""
        if self.variant is not None:
            return self.variant(actor, row)
        return actor.user.pk.hex if self.per_user and actor.user is not None else ""

    def etag(self, version: int, row: models.Model) -> str:
        """Differs when the fragment would show something else: later facts, or words of another language."""
        return self.tag(version, self.as_of(row) if self.as_of else None)

    def tag(self, version: int, as_of: dt.datetime | None) -> str:
        """The etag for facts of a known moment."""
        seen = "" if as_of is None else f".{int(as_of.timestamp())}"
        return f'"{version}{seen}-{get_language()}"'


KINDS: dict[str, LiveKind] = {}


def register(kind: LiveKind) -> LiveKind:
    """Make a kind known; twice the same name is a programming error."""
    if kind.kind in KINDS:
        raise ValueError(f"Live kind {kind.kind!r} is registered twice.")
    KINDS[kind.kind] = kind
    return kind
