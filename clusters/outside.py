"""The outside calls about clusters that a request may wait for: issue and revoke a kubeconfig.

Everything else outside happens in workers. Each call has a deadline of ten seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.kube import tenant
from clusters.models import Cluster, ClusterSecret
from portal.lib.crypto import unseal
from portal.lib.errors import WrongState
from portal.lib.http import is_loopback

DEADLINE = 10.0  # seconds, for each call
LOCAL = "local"  # the driver whose clusters are on this machine
ANYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  # an address to refuse, not to listen on


def access_to(cluster: Cluster) -> Access:
    """The portal's own access to the cluster's API server. Raises WrongState while there is none.

    An address of this machine is only believed of clusters that are on this machine: the Platform answers
    with localhost before it knows the public one.
    """
    kept = ClusterSecret.objects.filter(cluster=cluster, name=tenant.KEPT_AS).first()
    if kept is None:
        raise WrongState(_("This cluster has no API server yet."), hint=_("Its steps show how far it is."))
    access = tenant.unpack(unseal(bytes(kept.sealed)))
    host = urlsplit(access.server).hostname or ""
    is_local = cluster.site.drivers.get("control_plane") == LOCAL
    if not is_local and (is_loopback(host) or host in ANYWHERE):
        raise WrongState(_("The API server has no public address yet."), hint=_("Try again in a minute."))
    return access


def server_of(access: Access) -> str:
    """A hash of where a file of this access leads, and whom it trusts there."""
    parts = access.server.encode(), access.prefix.encode(), access.ca_pem
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def kube_for(access: Access) -> Iterator[KubeClient]:
    """A client as the portal, for one request."""
    client = KubeClient(access, timeout=DEADLINE, connections=1)
    try:
        yield client
    finally:
        client.close()
