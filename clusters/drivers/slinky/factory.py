"""Makes the steps of Slurm by Slinky, those that a site asks for."""

from __future__ import annotations

from collections.abc import Collection

from clusters.drivers.slinky.accounts import AccountsStep
from clusters.drivers.slinky.base import AccountingStep, HomeStep, KeysStep, OperatorsStep
from clusters.drivers.slinky.identity import IdentityStep
from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import DIRECT, SlinkySettings
from clusters.drivers.slinky.slurm import SlurmStep
from clusters.drivers.slinky.smoke import SmokeStep
from clusters.kube.gitops.installer import Installer
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step
from portal.lib.errors import PermanentError

CONCERNS = ("home", "accounting", "slurm")


def steps(
    settings: SlinkySettings,
    concerns: Collection[str],
    *,
    tenants: Clients,
    gitops: Clients | None = None,
    installer: Installer | None = None,
    reach: Reach | None = None,
) -> tuple[Step, ...]:
    """Each after those that it needs. `gitops` and `installer` are for all but direct installs."""
    if settings.install == DIRECT:
        installer = None
    elif installer is None or gitops is None:
        raise PermanentError(
            "BadSiteSettings",
            "The site installs Slurm by GitOps and has no settings for that.",
            hint="Give the section gitops, or set slinky.install to direct.",
        )
    reach = reach or Reach(settings)
    objects = gitops if installer and gitops else tenants
    found: list[Step] = []
    if "slurm" in concerns:
        found.append(KeysStep(settings, tenants))
        if installer and gitops:
            found.append(OperatorsStep(settings, installer, gitops, tenants))
    if "home" in concerns:
        found.append(HomeStep(settings, tenants))
    if "accounting" in concerns:
        found.append(AccountingStep(settings, tenants, tenants, direct=installer is None))
    if "slurm" in concerns:
        found += [
            SlurmStep(settings, objects, tenants, reach, installer),
            IdentityStep(settings, tenants, reach),
            SmokeStep(reach),
        ]
    return (*found, *_users(settings, concerns, tenants))


def _users(settings: SlinkySettings, concerns: Collection[str], tenants: Clients) -> tuple[Step, ...]:
    is_booked = {"slurm", "accounting"} <= set(concerns)
    return (AccountsStep(settings, tenants),) if is_booked else ()
