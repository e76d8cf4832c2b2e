"""Registers what upper layers call into."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Who."""

    name = "tenants"
    verbose_name = "People and tenants"

    def ready(self) -> None:
        """Make our live kinds and the words of our verbs known."""
        import_module("tenants.live.kinds")
        import_module("tenants.audit")
