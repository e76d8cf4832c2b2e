"""Orders, clusters and the catalogue as operators see them; registers with the operators' site."""

from __future__ import annotations

from clusters.admin import catalogue, clusters, orders

__all__ = ["catalogue", "clusters", "orders"]
