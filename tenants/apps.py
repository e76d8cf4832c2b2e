"""Registers what upper layers call into."""

from __future__ import annotations

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Who."""

    name = "tenants"
    verbose_name = "People and tenants"
