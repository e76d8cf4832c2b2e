"""Public keys with which a member may open a shell in clusters that offer one."""

from __future__ import annotations

from django.db import models

from tenants.models.people import Membership, Tenant
from tenants.scoping import TenantQuerySet


class SshKey(models.Model):
    """One public key of a member; it goes with the membership."""

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="ssh_keys")
    kind = models.CharField(max_length=40, help_text="E.g. ssh-ed25519.")
    body = models.TextField(help_text="Base64, as in a .pub file.")
    comment = models.CharField(max_length=100, blank=True)
    fingerprint = models.CharField(max_length=60, help_text="As ssh-keygen -l prints it.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()
    tenant_path = "membership__tenant"

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint("membership", "fingerprint", name="one_ssh_key_per_fingerprint")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint}"

    @property
    def line(self) -> str:
        """As sshd reads it: nothing but kind and key, since the rest was typed by people."""
        return f"{self.kind} {self.body}"

    @property
    def tenant(self) -> Tenant:
        """Of its membership: the audit trail asks."""
        return self.membership.tenant
