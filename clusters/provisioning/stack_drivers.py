"""Makes the steps of stacks on Kubernetes; each driver is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.provisioning.steps import Step

if TYPE_CHECKING:
    from clusters.kube.gitops.installer import Installer
    from clusters.provisioning.registry import Wanted


def gitops(wanted: Wanted) -> tuple[Step, ...]:
    """Argo CD or Flux is told of the cluster, and of the repositories from which it may install there."""
    from clusters.kube import servers  # noqa: PLC0415
    from clusters.kube.gitops.register import RegisterStep  # noqa: PLC0415
    from clusters.kube.gitops.settings import GitOps  # noqa: PLC0415

    settings = wanted.site.settings
    clients = servers.gitops_of(settings)
    return (RegisterStep(GitOps.from_site(settings), _repos(wanted), clients, servers.of_tenant),)


def slinky(wanted: Wanted) -> tuple[Step, ...]:
    """Slurm."""
    from clusters.drivers.slinky import SlinkySettings, steps  # noqa: PLC0415
    from clusters.kube import servers  # noqa: PLC0415

    settings = wanted.site.settings
    return steps(
        SlinkySettings.from_site(settings),
        wanted.concerns,
        tenants=servers.of_tenant,
        gitops=servers.gitops_of(settings),
        installer=_installer(wanted),
    )


def gpu_operator(wanted: Wanted) -> tuple[Step, ...]:
    """GPUs."""
    from clusters.drivers.gpu_operator import GpuSettings, steps  # noqa: PLC0415
    from clusters.kube import servers  # noqa: PLC0415

    settings = wanted.site.settings
    return steps(
        GpuSettings.from_site(settings),
        tenants=servers.of_tenant,
        gitops=servers.gitops_of(settings),
        installer=_installer(wanted),
    )


def kubernetes_stack(wanted: Wanted) -> tuple[Step, ...]:
    """Nothing but Kubernetes."""
    from clusters.drivers.kubernetes_stack import KubernetesSettings, steps  # noqa: PLC0415
    from clusters.kube import servers  # noqa: PLC0415

    return steps(KubernetesSettings.from_site(wanted.site.settings), servers.of_tenant)


def volcano(wanted: Wanted) -> tuple[Step, ...]:
    """Volcano, which only a chart brings."""
    from clusters.drivers.volcano import VolcanoSettings, steps  # noqa: PLC0415
    from clusters.kube import servers  # noqa: PLC0415
    from clusters.kube.gitops.installer import Installer  # noqa: PLC0415
    from clusters.kube.gitops.settings import GitOps  # noqa: PLC0415

    settings = wanted.site.settings
    return steps(
        VolcanoSettings.from_site(settings),
        tenants=servers.of_tenant,
        gitops=servers.gitops_of(settings),
        installer=Installer(GitOps.from_site(settings)),
    )


def isolation(wanted: Wanted) -> tuple[Step, ...]:
    """Shows at the end that the cluster stands alone; part of every plan."""
    from clusters.drivers.isolation import IsolationStep  # noqa: PLC0415
    from clusters.services.neighbours import around  # noqa: PLC0415
    from clusters.services.slurm_access import authorities_of  # noqa: PLC0415

    return (IsolationStep(around, wanted.before, authorities_of),)


def remarks(drivers: dict[str, str], settings: dict[str, object], stack: str) -> tuple[str, ...]:
    """What people should know before they order this stack at a site: reasons of clusters.reasons."""
    from clusters.drivers.slinky import SlinkySettings  # noqa: PLC0415

    if drivers.get(stack) != "slinky":
        return ()
    return () if drivers.get("home") else SlinkySettings.from_site({**settings, "slinky": {}}).remarks()


def _installer(wanted: Wanted) -> Installer | None:
    from clusters.kube.gitops.installer import Installer  # noqa: PLC0415
    from clusters.kube.gitops.settings import SECTION, GitOps  # noqa: PLC0415

    settings = wanted.site.settings
    return Installer(GitOps.from_site(settings)) if SECTION in settings else None


def _repos(wanted: Wanted) -> list[str]:
    """Of the drivers that the site has; as Argo CD matches them."""
    from clusters.drivers.gpu_operator import GpuSettings  # noqa: PLC0415
    from clusters.drivers.slinky import SlinkySettings  # noqa: PLC0415
    from clusters.drivers.volcano import VolcanoSettings  # noqa: PLC0415

    settings, used = wanted.site.settings, set(wanted.site.drivers.values())
    found: list[str] = []
    if "slinky" in used:
        charts = SlinkySettings.from_site(settings).charts
        found += [charts.repo, charts.cert_manager_repo]
    if "gpu_operator" in used:
        found.append(GpuSettings.from_site(settings).repo)
    if "volcano" in used:
        found.append(VolcanoSettings.from_site(settings).repo)
    return [f"{repo}/*" if repo.startswith("oci://") else repo for repo in found]
