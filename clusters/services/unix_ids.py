"""Gives out uids, gids and blocks of ports; an id is never given out twice, also after a rollback."""

from __future__ import annotations

import contextlib
import socket

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from clusters.models import Cluster, PortBlock
from portal.lib.errors import WrongState

PORTS_PER_CLUSTER = 100
_PORT_LOCK = 0x46_48_50  # key of the advisory lock under which blocks are chosen


def next_unix_id() -> int:
    """A number that is no uid and no gid of ours yet. A sequence counts; the setting says where it begins."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('clusters_unix_id')")
        row = cursor.fetchone()
    return int(settings.LOCAL_UID_BASE) + int(row[0])


def give_ports(cluster: Cluster) -> PortBlock:
    """The lowest free block of the installation's range. Raises WrongState when all are given out.

    A block in which something listens is passed over: another installation on this machine may have it.
    """
    return PortBlock.objects.create(cluster=cluster, base=_free_base())


def give_other_ports(cluster: Cluster) -> None:
    """Another block instead of the cluster's, if there is one; needs an open transaction.

    Only before anything of the cluster was ever reached by its ports.
    """
    with contextlib.suppress(WrongState):
        PortBlock.objects.filter(cluster=cluster).update(base=_free_base())


def _free_base() -> int:
    first, last = (int(part) for part in str(settings.LOCAL_PORTS).split("-", 1))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_PORT_LOCK])
    taken = set(PortBlock.objects.values_list("base", flat=True))
    for base in range(first, last - PORTS_PER_CLUSTER + 2, PORTS_PER_CLUSTER):
        if base not in taken and _is_quiet(base):
            return base
    raise WrongState(
        _("All blocks of ports of the local site are in use."),
        hint=_("Remove a cluster, or give the installation a larger range in FREEHOLD_LOCAL_PORTS."),
    )


def _is_quiet(base: int) -> bool:
    for port in range(base, base + PORTS_PER_CLUSTER):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed connection's rest is fine
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def ports_of(cluster: Cluster) -> range:
    """The cluster's own ports; empty where it has none."""
    block = PortBlock.objects.filter(cluster=cluster).first()
    return range(block.base, block.base + PORTS_PER_CLUSTER) if block else range(0)
