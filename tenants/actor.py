"""Who does something, and through what. Every command takes one by keyword."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from portal.lib.errors import NotVisible
from tenants.models import Membership, OidcIdentity, Tenant, User
from tenants.scopes import Grant

Via = Literal["web", "admin", "api", "worker", "command"]


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, the system or nobody; `tenant` and `role` are set only inside /t/<slug>/."""

    user: User | None = None
    identity: OidcIdentity | None = None
    is_operator: bool = False
    is_system: bool = False
    tenant: Tenant | None = None
    role: str | None = None
    via: Via = "web"
    address: str | None = None
    request_id: str = ""
    grant: Grant | None = None  # of the API token, whose rights are no more than this
    places: tuple[Membership, ...] = ()  # all that it may enter, read with `tenant`

    @property
    def is_signed_in(self) -> bool:
        """A person whom an issuer vouched for."""
        return self.user is not None

    @property
    def kind(self) -> str:
        """How the audit trail calls this actor."""
        if self.is_system:
            return "system"
        if self.user is None:
            return "anonymous"
        return "operator" if self.is_operator and self.via == "admin" else "person"

    @property
    def label(self) -> str:
        """Name with issuer and subject, kept in audit rows as it is now."""
        if self.is_system:
            return "Freehold"
        if self.user is None:
            return "Nobody"
        who = f"{self.user} ({self.identity})" if self.identity else str(self.user)
        return f"{who}, API token {self.grant.name}" if self.grant else who

    def within(self, slug: str) -> Actor:
        """The same actor inside a tenant; NotVisible unless a working member of it, read afresh.

        An API token opens the tenant of its own membership, which was read with it, and no other, whatever
        its person may enter.
        """
        places = self._places() if self.grant is None else (self.grant.membership,)
        membership = next((place for place in places if place.tenant.slug == slug), None)
        if membership is None:
            raise NotVisible
        return replace(self, tenant=membership.tenant, role=membership.role, places=places)

    def _places(self) -> tuple[Membership, ...]:
        if self.user is None or not self.user.is_active:
            return ()
        return tuple(Membership.objects.places_of(self.user))


SYSTEM = Actor(is_system=True, via="worker")
NOBODY = Actor()
