"""People, tenants and what they did."""

from __future__ import annotations

from tenants.models.audit import AuditEvent
from tenants.models.outbox import OutboxMail
from tenants.models.people import Invitation, Membership, OidcIdentity, Role, Tenant, User
from tenants.models.ssh import SshKey
from tenants.models.tokens import ApiToken, RequestKey
from tenants.models.topics import TopicVersion

__all__ = [
    "ApiToken",
    "AuditEvent",
    "Invitation",
    "Membership",
    "OidcIdentity",
    "OutboxMail",
    "RequestKey",
    "Role",
    "SshKey",
    "Tenant",
    "TopicVersion",
    "User",
]
