"""Which clusters have a console (clusters.clients.slurm_console), and why the others have none."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from clusters.clients.slurm_console.console import SlurmConsole
from clusters.clients.slurm_console.local import Controller, LocalConsole
from clusters.drivers.slinky import inside
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.drivers.slurm_probe import site as slurm_site
from clusters.kube import tenant
from clusters.kube.servers import client_for
from clusters.models import Cluster, ClusterSecret, Site, SlurmIdentity, StepState
from portal.lib.crypto import unseal
from portal.lib.errors import PermanentError, WrongState

LOCAL, SLINKY = "local", "slinky"


def why_absent(cluster: Cluster) -> str:
    """Why nothing can be asked through a console here; "" where it can."""
    driver = cluster.site.drivers.get("slurm")
    if driver == SLINKY:
        return _why_no_pods(cluster)
    if driver != LOCAL:
        return _("This site has no console, and Slurm's REST API cannot do it.")
    return "" if _controller(cluster) else _("The cluster's console is not known yet.")


def may_top(site: Site) -> bool:
    """Whether the site lets members reorder their own waiting jobs."""
    return slurm_site.may_top(site.settings)


def open_console(identity: SlurmIdentity, token: Callable[[], str], *, timeout: float) -> SlurmConsole:
    """As one account of its cluster. Raises WrongState where there is none."""
    cluster = identity.cluster
    if why := why_absent(cluster):
        raise WrongState(why)
    if cluster.site.drivers["slurm"] == SLINKY:
        return _in_a_pod(identity, timeout)
    controller = _controller(cluster)
    if controller is None:
        raise WrongState(why_absent(cluster))
    return LocalConsole(controller, identity.name, token, timeout)


def _controller(cluster: Cluster) -> Controller | None:
    facts = StepState.objects.filter(cluster=cluster, name="slurm").values_list("facts", flat=True).first()
    told = facts or {}
    host, _colon, port = str(told.get("controller", "")).rpartition(":")
    try:
        return Controller(str(told.get("cluster_name", "")), host, int(port))
    except ValueError:
        return None


def _why_no_pods(cluster: Cluster) -> str:
    try:
        settings = SlinkySettings.from_site(cluster.site.settings)
    except PermanentError:
        return _("This site's settings for Slurm are not usable.")
    if not settings.login.replicas:
        return _("This site has no login pods, and Slurm's REST API cannot do it.")
    return "" if _access(cluster).exists() else _("The cluster's console is not known yet.")


def _access(cluster: Cluster) -> QuerySet[ClusterSecret]:
    return ClusterSecret.objects.filter(cluster=cluster, name=tenant.KEPT_AS)


def _in_a_pod(identity: SlurmIdentity, timeout: float) -> SlurmConsole:
    access = tenant.unpack(unseal(bytes(_access(identity.cluster).get().sealed)))
    return inside.console(client_for(access), uid=identity.uid, gid=identity.gid, timeout=timeout)
