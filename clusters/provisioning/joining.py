"""The command by which an operator lets a machine join a cluster by hand. It holds a secret: never stored."""

from __future__ import annotations

from django.utils.translation import gettext as _

from clusters.models import Cluster
from clusters.provisioning.context import step_context
from portal.lib.errors import WrongState
from tenants.actor import Actor
from tenants.commands import command

DRIVER = "vcluster_platform"


def join_command_of(*, actor: Actor, cluster: Cluster) -> str:
    """Ask the Platform for it, and note who was shown it. Raises WrongState and the driver's errors."""
    # imported late: only such a site needs the driver
    from clusters.drivers.vcluster_platform import PlatformSettings, join_command  # noqa: PLC0415
    from clusters.kube.servers import PLATFORM  # noqa: PLC0415

    site = cluster.site
    if site.drivers.get("control_plane") != DRIVER:
        raise WrongState(_("Machines of %(site)s do not join by hand.") % {"site": site.name})
    settings = PlatformSettings.from_site(site.settings, has_fabric=bool(site.drivers.get("fabric")))
    told = join_command(step_context(cluster), settings, PLATFORM)
    with command("cluster.join_shown", actor=actor, target=cluster):
        return told
