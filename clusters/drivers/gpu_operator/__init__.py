"""NVIDIA's GPU Operator in a tenant's cluster: drivers, device plugin, and GPUs shared within one tenant."""

from __future__ import annotations

from clusters.drivers.gpu_operator.settings import GpuSettings
from clusters.drivers.gpu_operator.step import GpuStep
from clusters.kube.gitops.installer import Installer
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step
from portal.lib.errors import PermanentError

__all__ = ["GpuSettings", "GpuStep", "steps"]


def steps(
    settings: GpuSettings,
    *,
    tenants: Clients,
    gitops: Clients | None = None,
    installer: Installer | None = None,
) -> tuple[Step, ...]:
    """The one step. `gitops` and `installer` are for all but direct installs."""
    if settings.is_direct:
        return (GpuStep(settings, tenants, tenants),)
    if installer is None or gitops is None:
        raise PermanentError(
            "BadSiteSettings",
            "The site installs the GPU Operator by GitOps and has no settings for that.",
            hint="Give the section delivery, or set gpu_operator.install to direct.",
        )
    return (GpuStep(settings, gitops, tenants, installer),)
