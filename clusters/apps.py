"""Registers the live kinds of orders and clusters, and follows who belongs to a tenant."""

from __future__ import annotations

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    """What."""

    name = "clusters"
    verbose_name = "Orders and clusters"

    def ready(self) -> None:
        """Models can be imported from here on."""
        from clusters import kinds  # noqa: F401, PLC0415  # registers the live kinds
        from clusters.services import identities  # noqa: PLC0415
        from tenants import audit, hooks  # noqa: PLC0415

        hooks.membership_changed.append(identities.membership_changed)
        hooks.tenant_changed.append(identities.tenant_changed)
        hooks.accounts.append(identities.accounts_of)
        audit.register_verbs(
            {
                "order.submitted": "ordered",
                "order.cancelled": "cancelled the order",
                "order.approved": "approved the order",
                "order.rejected": "rejected the order",
                "order.fulfilled": "fulfilled the order",
                "cluster.termination_ordered": "ordered the end of",
                "cluster.removal_began": "began to remove",
                "cluster.retried": "tried again to build",
                "cluster.paused": "paused",
                "cluster.resumed": "resumed",
                "cluster.given_up": "gave up building or changing",
            }
        )
