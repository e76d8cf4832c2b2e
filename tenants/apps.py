"""Registers what upper layers call into."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TenantsConfig(AppConfig):
    """Who."""

    name = "tenants"
    verbose_name = _("People and tenants")

    def ready(self) -> None:
        """Make our live kinds and the words of our verbs known."""
        import_module("tenants.live.kinds")
        import_module("tenants.audit")
