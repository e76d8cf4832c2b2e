"""Gives a cluster a fabric of its own through a Netris controller: server cluster, VPC, V-Nets."""

from __future__ import annotations

from clusters.drivers.netris.fabric import FabricStep
from clusters.drivers.netris.settings import NetrisSettings

__all__ = ["FabricStep", "NetrisSettings"]
