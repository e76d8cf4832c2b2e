"""Makes the steps of a local site."""

from __future__ import annotations

from collections.abc import Callable, Collection

from clusters.drivers.local.accounting import AccountingStep
from clusters.drivers.local.accounts import AccountsStep
from clusters.drivers.local.controlplane import ControlPlaneStep
from clusters.drivers.local.fabric import FabricStep
from clusters.drivers.local.identity import IdentityStep
from clusters.drivers.local.machines import MachinesStep
from clusters.drivers.local.nodes import NodesStep
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.local.slurm import SlurmStep
from clusters.drivers.local.smoke import SmokeStep
from clusters.provisioning.steps import Step

# by what a site names this driver for
STEPS: dict[str, tuple[Callable[[LocalSettings], Step], ...]] = {
    "machines": (MachinesStep,),
    "fabric": (FabricStep,),
    "accounting": (AccountingStep,),
    "slurm": (SlurmStep, IdentityStep, SmokeStep),
    "control_plane": (ControlPlaneStep, NodesStep),  # last: no step of Slurm's waits for it
}


def steps(settings: LocalSettings, concerns: Collection[str] = tuple(STEPS)) -> tuple[Step, ...]:
    """The steps on this machine that serve these concerns, each after the steps that it needs."""
    wanted = set(concerns)
    if "slurm" not in wanted:
        wanted.discard("accounting")  # of Slurm's jobs: no other stack has any
    made = [make(settings) for concern, kinds in STEPS.items() if concern in wanted for make in kinds]
    return (*made, AccountsStep(settings)) if "accounting" in wanted else tuple(made)
