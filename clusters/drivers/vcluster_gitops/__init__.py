"""Makes tenants' clusters by the vcluster chart through Argo CD or Flux, by apply or by commit."""

from __future__ import annotations

from pathlib import Path

from clusters.clients.kube.models import Access
from clusters.drivers.vcluster_gitops.settings import GitOpsSettings
from clusters.drivers.vcluster_gitops.step import ReleaseStep
from clusters.drivers.vcluster_gitops.values import SECRET
from clusters.kube import exported
from clusters.kube.portal_access import AccessStep, First
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step, StepContext

__all__ = ["AccessStep", "GitOpsSettings", "ReleaseStep", "entrance", "steps"]


def steps(settings: GitOpsSettings, clients: Clients, *, cache: Path) -> tuple[Step, ...]:
    """`control-plane` and `access`; `clients` gives the cluster that holds controller and control planes."""
    made = ReleaseStep(settings, clients, cache=cache)
    return (made, AccessStep(entrance(settings, clients)))


def entrance(settings: GitOpsSettings, clients: Clients) -> First:
    """The credential that the control plane exports, for the access step."""

    def read(ctx: StepContext) -> Access:
        return exported.read(
            clients(ctx),
            SECRET,
            namespace=settings.namespace(ctx.spec),
            public_server=settings.address(ctx.spec),
        )

    return read
