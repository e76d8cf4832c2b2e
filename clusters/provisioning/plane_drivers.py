"""Makes the steps of machines, fabrics and control planes; each driver is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings as portal

from clusters.provisioning.steps import Step

if TYPE_CHECKING:
    from clusters.provisioning.registry import Wanted


def metal3(wanted: Wanted) -> tuple[Step, ...]:
    """Bare metal of the site's own."""
    from clusters.drivers.metal3 import Metal3Settings, steps  # noqa: PLC0415
    from clusters.kube.servers import CONTROL_PLANE  # noqa: PLC0415

    return steps(Metal3Settings.from_site(wanted.site.settings), CONTROL_PLANE)


def vcluster_nodes(wanted: Wanted) -> tuple[Step, ...]:
    """Machines that the vCluster Platform picks: the stock, and the nodes."""
    from clusters.drivers.vcluster_nodes import NodesSettings, steps  # noqa: PLC0415
    from clusters.kube.servers import PLATFORM  # noqa: PLC0415

    made = steps(NodesSettings.from_site(wanted.site.settings), PLATFORM)
    return tuple(step for step in made if step.name in wanted.concerns)


def joined(wanted: Wanted) -> tuple[Step, ...]:
    """Nodes of machines that join by themselves, or by an operator's hand."""
    from clusters.drivers.joined import JoinedNodesStep, JoinedSettings  # noqa: PLC0415
    from clusters.kube.servers import of_tenant  # noqa: PLC0415

    return (JoinedNodesStep(JoinedSettings.from_site(wanted.site.settings), of_tenant),)


def netris(wanted: Wanted) -> tuple[Step, ...]:
    """A fabric by the Netris controller."""
    from clusters.drivers.netris import FabricStep, NetrisSettings  # noqa: PLC0415

    return (FabricStep(NetrisSettings.from_site(wanted.site.settings)),)


def vcluster_platform(wanted: Wanted) -> tuple[Step, ...]:
    """Control planes by the vCluster Platform, and the portal's access to them."""
    from clusters.drivers.vcluster_platform import PlatformSettings, steps  # noqa: PLC0415

    found = PlatformSettings.from_site(wanted.site.settings, has_fabric=_has_fabric(wanted))
    return steps(found)


def vcluster_gitops(wanted: Wanted) -> tuple[Step, ...]:
    """Control planes by the vcluster chart, and the portal's access to them."""
    from clusters.drivers.vcluster_gitops import GitOpsSettings, steps  # noqa: PLC0415
    from clusters.kube.servers import gitops_of  # noqa: PLC0415

    settings = wanted.site.settings
    found = GitOpsSettings.from_site(settings, has_fabric=_has_fabric(wanted))
    return steps(found, gitops_of(settings), cache=portal.DATA_FOLDER / "state" / "git")


def _has_fabric(wanted: Wanted) -> bool:
    """Whether machines reach their control plane by the site's own network; else by the vendor's VPN."""
    return bool(wanted.site.drivers.get("fabric"))
