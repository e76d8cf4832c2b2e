"""Which clusters have a console (clusters.clients.slurm_console), and why the others have none."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext as _

from clusters.clients.slurm_console.console import SlurmConsole
from clusters.clients.slurm_console.local import Controller, LocalConsole
from clusters.models import Cluster, Site, StepState
from portal.lib.errors import WrongState

LOCAL = "local"
TOP = "slurm_user_top"  # a site's setting: members may put a job of theirs before their others


def why_absent(cluster: Cluster) -> str:
    """Why nothing can be asked through a console here; "" where it can."""
    if cluster.site.drivers.get("slurm") != LOCAL:
        return _("This site has no console, and Slurm's REST API cannot do it.")
    if _controller(cluster) is None:
        return _("The cluster's console is not known yet.")
    return ""


def may_top(site: Site) -> bool:
    """Whether the site lets members reorder their own waiting jobs."""
    return site.settings.get(TOP) is True


def open_console(cluster: Cluster, account: str, token: Callable[[], str], *, timeout: float) -> SlurmConsole:
    """As one account of the cluster. Raises WrongState where there is none."""
    controller = _controller(cluster) if cluster.site.drivers.get("slurm") == LOCAL else None
    if controller is None:
        raise WrongState(why_absent(cluster))
    return LocalConsole(controller, account, token, timeout)


def _controller(cluster: Cluster) -> Controller | None:
    facts = StepState.objects.filter(cluster=cluster, name="slurm").values_list("facts", flat=True).first()
    told = facts or {}
    host, _, port = str(told.get("controller", "")).rpartition(":")
    try:
        return Controller(str(told.get("cluster_name", "")), host, int(port))
    except ValueError:
        return None
