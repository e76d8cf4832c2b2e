"""Which stacks a site offers, and what the stack of a cluster brings with it."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from clusters.models import Cluster, Site, Stack
from portal.lib.errors import NotVisible


def of_site(site: Site) -> list[Stack]:
    """Those that the site names a driver for."""
    return [stack for stack in Stack if site.drivers.get(stack.value)]


def of_sites(sites: Iterable[Site]) -> list[Stack]:
    """Those that any of the sites offers."""
    rows = list(sites)
    return [stack for stack in Stack if any(site.drivers.get(stack.value) for site in rows)]


def offered_words(site: Site) -> str:
    """Slurm, Kubernetes"""
    return ", ".join(str(stack.label) for stack in of_site(site))


def require_slurm(cluster: Cluster) -> None:
    """Raise NotVisible for a cluster whose stack has no Slurm: there are no jobs to submit or to look at."""
    if not cluster.has_slurm:
        raise NotVisible(
            _("This cluster has no Slurm."),
            hint=_("Its stack is %(stack)s.") % {"stack": cluster.get_stack_display()},
        )


def require_volcano(cluster: Cluster) -> None:
    """Raise NotVisible for a cluster without Volcano's queues."""
    if not cluster.has_volcano:
        raise NotVisible(
            _("This cluster has no Volcano."),
            hint=_("Its stack is %(stack)s.") % {"stack": cluster.get_stack_display()},
        )
