"""The one write path: one transaction, one audit row, events on commit, actor by keyword."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field

from django.conf import settings
from django.db import models, transaction
from django.utils import translation

from portal.lib.copying import add_rows
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.live.topics import Topic, publish_all
from tenants.models import AuditEvent, Tenant


@dataclass(slots=True)
class Command:
    """What a service adds while it runs; written when its block ends without an error."""

    verb: str
    actor: Actor
    tenant: Tenant | None
    target: models.Model | None
    detail: JSONDict = field(default_factory=dict)
    topics: list[Topic] = field(default_factory=list)
    quiet: list[Topic] = field(default_factory=list)
    more: list[tuple[models.Model, JSONDict]] = field(default_factory=list)

    def each(self, target: models.Model, detail: JSONDict) -> None:
        """One of several things that this act is about: each has an audit row, with its own details."""
        self.more.append((target, detail))

    def publish(self, *topics: Topic) -> None:
        """Tell the viewers of these topics, once the transaction is committed."""
        self.topics.extend(topics)

    def publish_quietly(self, *topics: Topic) -> None:
        """The same without a word: viewers see it when they ask by themselves, within 30 s."""
        self.quiet.extend(topics)


@contextmanager
def command(
    verb: str,
    *,
    actor: Actor,
    tenant: Tenant | None = None,
    target: models.Model | None = None,
    detail: JSONDict | None = None,
) -> Iterator[Command]:
    """Wrap every change of ours: `with command("order.approved", actor=actor, target=order) as done:`.

    The tenant is the given one, else the target's, else the actor's. An error inside rolls all back
    and leaves no audit row.
    """
    with transaction.atomic():
        done = Command(
            verb=verb,
            actor=actor,
            tenant=tenant or getattr(target, "tenant", None) or actor.tenant,
            target=target,
            detail=detail or {},
        )
        yield done
        with translation.override(settings.LANGUAGE_CODE):  # the trail is in one language, whoever acts
            _write(done)
        publish_all(done.topics, quiet=done.quiet)


def _write(done: Command) -> None:
    """One row, or one for each of several things."""
    things: Sequence[tuple[models.Model | None, JSONDict]] = done.more or [(done.target, done.detail)]
    pattern = _pattern(done)
    add_rows([_about(pattern, target, detail) for target, detail in things])


def _about(pattern: AuditEvent, target: models.Model | None, detail: JSONDict) -> AuditEvent:
    row = copy(pattern)
    row.detail = detail
    if target is not None:
        row.target_type = target._meta.model_name or ""  # noqa: SLF001
        row.target_id, row.target_label = str(target.pk), str(target)[:200]
    return row


def _pattern(done: Command) -> AuditEvent:
    """What all rows of an act share."""
    return AuditEvent(
        verb=done.verb,
        tenant=done.tenant,
        actor_kind=done.actor.kind,
        actor_user=done.actor.user,
        actor_label=done.actor.label[:600],
        via=done.actor.via,
        address=done.actor.address,
        request_id=done.actor.request_id,
    )
