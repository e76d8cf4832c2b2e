"""Gives clusters bare-metal machines through Metal3, and takes them back only when they are wiped."""

from __future__ import annotations

from clusters.drivers.metal3.claims import ClaimsStep
from clusters.drivers.metal3.machines import HostsStep
from clusters.drivers.metal3.settings import Metal3Settings
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step

__all__ = ["ClaimsStep", "HostsStep", "Metal3Settings", "steps"]


def steps(settings: Metal3Settings, clients: Clients) -> tuple[Step, ...]:
    """The machines step, by the hosts themselves or by claims on them, as the site says."""
    return (ClaimsStep(settings, clients) if settings.by_claims else HostsStep(settings, clients),)
