"""Registers the live kinds of orders and clusters."""

from __future__ import annotations

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    """What."""

    name = "clusters"
    verbose_name = "Orders and clusters"
