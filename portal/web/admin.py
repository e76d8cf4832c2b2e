"""The operators' site as the project mounts it; its base stands in tenants, below all that register."""

from __future__ import annotations

from tenants.operations import OperationsAdmin, actor_of, operations

__all__ = ["OperationsAdmin", "actor_of", "operations"]
