"""Registers the live kinds of orders and clusters, and follows who belongs to a tenant."""

from __future__ import annotations

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    """What."""

    name = "clusters"
    verbose_name = "Orders and clusters"

    def ready(self) -> None:
        """Models can be imported from here on."""
        from clusters.services.identities import membership_changed  # noqa: PLC0415
        from tenants import hooks  # noqa: PLC0415

        hooks.membership_changed.append(membership_changed)
