"""The one door to tenant data. It fails closed: whoever is not known to belong sees nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models

from portal.lib.errors import NotVisible
from tenants.rights import Action, require

if TYPE_CHECKING:
    from tenants.actor import Actor

ModelT = TypeVar("ModelT", bound=models.Model)


class TenantQuerySet(models.QuerySet[ModelT]):
    """For models with `tenant_path`: the lookup from a row to its tenant's key."""

    def for_actor(self, actor: Actor) -> Self:
        """Rows of the tenant in whose address the actor stands, if the actor is a member of it."""
        path: str = getattr(self.model, "tenant_path", "")
        if actor.tenant is None or actor.role is None or not path:
            return self.none()
        return self.filter(**{path: actor.tenant.pk})

    def for_operator(self, actor: Actor) -> Self:
        """All rows for an operator, in the operators' area; nothing for anyone else."""
        return self.all() if actor.is_operator else self.none()


class PeopleQuerySet(models.QuerySet[ModelT]):
    """Rows about people, which no tenant owns: only operators list them."""

    def for_operator(self, actor: Actor) -> Self:
        """All rows for an operator; nothing for anyone else."""
        return self.all() if actor.is_operator else self.none()

    def get_by_natural_key(self, key: str) -> ModelT:
        """Django's auth asks managers for it."""
        return self.get(pk=key)


def get_visible(
    rows: models.QuerySet[ModelT], actor: Actor, key: object, action: Action = Action.VIEW
) -> ModelT:
    """The row, or NotVisible (404); then NotAllowed (403) if the role lacks `action`.

    `rows` is a queryset on which `for_actor` is called here: nobody can forget it.
    """
    assert isinstance(rows, TenantQuerySet)  # noqa: S101  # a programming error, not input
    try:
        found: ModelT = rows.for_actor(actor).get(pk=key)
    except (rows.model.DoesNotExist, ValidationError, ValueError) as error:
        raise NotVisible from error
    require(actor, action)
    return found


def find_visible(
    rows: models.QuerySet[ModelT], actor: Actor, keys: Collection[uuid.UUID]
) -> dict[uuid.UUID, ModelT]:
    """Those of the rows that the actor may see, by key; what the role may do with them is `may`'s to say."""
    assert isinstance(rows, TenantQuerySet)  # noqa: S101  # a programming error, not input
    return {row.pk: row for row in rows.for_actor(actor).filter(pk__in=keys)}
