"""Slurm in a tenant's cluster by SchedMD's Slinky: the operator, and its objects by chart or directly."""

from __future__ import annotations

from clusters.drivers.slinky.factory import steps
from clusters.drivers.slinky.settings import SlinkySettings

__all__ = ["SlinkySettings", "steps"]
