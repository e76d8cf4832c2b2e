"""Makes tenants' clusters through the vCluster Platform: Project, VirtualClusterInstance, access."""

from __future__ import annotations

from clusters.drivers.vcluster_platform.entrance import Entrance, join_command
from clusters.drivers.vcluster_platform.instance import InstanceStep
from clusters.drivers.vcluster_platform.settings import PlatformSettings
from clusters.kube.portal_access import AccessStep
from clusters.kube.servers import CONTROL_PLANE, PLATFORM
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step

__all__ = ["AccessStep", "Entrance", "InstanceStep", "PlatformSettings", "join_command", "steps"]


def steps(
    settings: PlatformSettings, platform: Clients = PLATFORM, control_plane: Clients = CONTROL_PLANE
) -> tuple[Step, ...]:
    """`control-plane` and `access`."""
    entrance = Entrance(settings, platform, control_plane)
    return (InstanceStep(settings, platform), AccessStep(entrance))
