"""Renders the fragment of a live region: the same partial for page, poll and socket."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import structlog
from django.core.cache import cache
from django.db import models
from django.template.loader import render_to_string
from django.utils import translation
from redis.exceptions import RedisError

from tenants.actor import Actor
from tenants.live.registry import LiveKind

log = structlog.get_logger(__name__)
KEEP = 120  # seconds that a rendered fragment is kept for other viewers


@dataclass(frozen=True, slots=True)
class Fragment:
    """A region as one role sees it in one language; who has the same `key` sees the same."""

    key: str
    known: LiveKind
    actor: Actor
    row: models.Model
    version: int
    language: str
    etag: str


@dataclass(slots=True)
class Seeing:
    """Makes the fragments of one look; when facts were last looked at is asked once for all of them."""

    moments: dict[Hashable, dt.datetime | None] = field(default_factory=dict)

    def fragment(
        self, known: LiveKind, actor: Actor, row: models.Model, version: int, language: str
    ) -> Fragment:
        """The fragment that this actor sees of a row that was found through the door."""
        with translation.override(language):
            etag = known.tag(version, self._moment(known, row))
        key = f"live:{known.topic(row).name}:{etag}:{actor.role}:{known.audience(actor, row)}"
        return Fragment(key, known, actor, row, version, language, etag)

    def _moment(self, known: LiveKind, row: models.Model) -> dt.datetime | None:
        if known.as_of is None:
            return None
        place = known.kind, known.watches(row) if known.watches else row.pk
        if place not in self.moments:
            self.moments[place] = known.as_of(row)
        return self.moments[place]


def render_all(wanted: Sequence[Fragment]) -> dict[str, str | Exception]:
    """The HTML by key, or what went wrong; each is rendered once, and kept for other processes."""
    different = {one.key: one for one in wanted}
    html: dict[str, str | Exception] = dict(_kept(list(different)))
    fresh: dict[str, str] = {}
    for key, one in different.items():
        if key in html:
            continue
        try:
            with translation.override(one.language):
                fresh[key] = render_fragment(
                    one.known, one.actor, one.row, version=one.version, oob=True, etag=one.etag
                )
        except Exception as error:  # noqa: BLE001  # it concerns the viewers of this one only
            html[key] = error
    _keep(fresh)
    return html | fresh


def render_fragment(
    known: LiveKind, actor: Actor, row: models.Model, *, version: int, oob: bool, etag: str = ""
) -> str:
    """The fragment as this actor's role sees it; `oob` marks it for the socket's swap.

    `version` was read before the row: a change in between only means that it is rendered once more.
    """
    name = known.topic(row).name
    context = {
        "actor": actor,
        "live_oob": oob,
        "live_versions": {name: version},
        "live_etags": {name: etag} if etag else {},
        **known.context(actor, row),
    }
    return render_to_string(known.template, context).strip()


def _kept(keys: Sequence[str]) -> dict[str, str]:
    try:
        return dict(cache.get_many(keys)) if keys else {}
    except (RedisError, OSError):
        return {}


def _keep(fresh: dict[str, str]) -> None:
    try:
        if fresh:
            cache.set_many(fresh, KEEP)
    except (RedisError, OSError) as error:
        log.warning("fragments not kept", error=type(error).__name__)
