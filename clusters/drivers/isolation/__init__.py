"""Shows that a cluster stands alone: its tokens are refused elsewhere, its machines are nowhere else."""

from __future__ import annotations

from clusters.drivers.isolation.around import Around, Neighbour, SlurmDoor
from clusters.drivers.isolation.step import IsolationStep

__all__ = ["Around", "IsolationStep", "Neighbour", "SlurmDoor"]
