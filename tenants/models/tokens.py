"""Keys of our API, and the one-time keys under which its requests were sent."""

from __future__ import annotations

import uuid

from django.db import models

from tenants.models.people import Membership, OidcIdentity, Tenant, User
from tenants.scoping import PeopleQuerySet, TenantQuerySet


class ApiToken(models.Model):
    """Lets a program act as one member. Only the hash of its 256 random bits is kept.

    It ends with the membership, by itself at `expires_at`, or when it is revoked; what it may do is what
    its scopes and the member's present role both allow.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="tokens")
    identity = models.ForeignKey(OidcIdentity, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    scopes = models.JSONField(help_text="Names of tenants.scopes.SCOPES.")
    token_hash = models.CharField(max_length=64, unique=True)
    ending = models.CharField(max_length=4, help_text="Its last characters, to tell tokens apart.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To about a minute.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "membership__tenant"

    class Meta:
        indexes = [models.Index(fields=["membership", "-created_at"], name="tokens_by_membership")]

    def __str__(self) -> str:
        return f"{self.name} (…{self.ending})"

    @property
    def tenant(self) -> Tenant:
        """The one that it opens."""
        return self.membership.tenant


class RequestKey(models.Model):
    """A one-time key of an API request with the fingerprint of what it asked for."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    key = models.UUIDField()
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of address and body.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PeopleQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint("user", "key", name="one_request_per_key")]

    def __str__(self) -> str:
        return str(self.key)
