"""Makes the steps of a local site."""

from __future__ import annotations

from clusters.drivers.local.fabric import FabricStep
from clusters.drivers.local.identity import IdentityStep
from clusters.drivers.local.machines import MachinesStep
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurm import SlurmStep
from clusters.drivers.local.smoke import SmokeStep
from clusters.provisioning.steps import Step


def steps(settings: LocalSettings) -> tuple[Step, ...]:
    """All steps of a Slurm cluster on this machine, each after the steps that it needs."""
    return (
        MachinesStep(settings),
        FabricStep(settings),
        SlurmStep(settings),
        IdentityStep(settings),
        SmokeStep(settings),
    )
