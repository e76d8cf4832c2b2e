"""Nodes that join a tenant's cluster without being asked by us: by their image, or by an operator's hand."""

from __future__ import annotations

from clusters.drivers.joined.settings import JoinedSettings
from clusters.drivers.joined.step import JoinedNodesStep

__all__ = ["JoinedNodesStep", "JoinedSettings"]
