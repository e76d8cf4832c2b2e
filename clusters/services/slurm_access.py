"""Opens sessions with a cluster's slurmrestd, wherever it is: directly, or behind the tenant's API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.drivers.slinky.settings import rest_authorities
from clusters.kube import tenant
from clusters.models import ClusterSecret, SlurmEndpoint
from portal.lib.crypto import unseal
from portal.lib.http import Outside
from portal.lib.tls import trusting


def session_for(endpoint: SlurmEndpoint, *, timeout: float) -> Outside:
    """For this endpoint's address; to be closed. Raises PermanentError SealBroken or BadSiteSettings.

    An address below the tenant's API server is spoken to with its CA and the portal's credential there, as
    the step that renews it has kept it last. The credential is sent to no other address.
    """
    kept = ClusterSecret.objects.filter(cluster_id=endpoint.cluster_id, name=tenant.KEPT_AS).first()
    if kept is not None:
        access = tenant.unpack(unseal(bytes(kept.sealed)))
        if endpoint.url.startswith(f"{access.server}{access.prefix}/api/"):
            return KubeClient(access).through(endpoint.url, timeout=timeout)
    own = authorities_of(endpoint.cluster.site.settings) if endpoint.url.startswith("https:") else b""
    return Outside(endpoint.url, timeout=timeout, tls=trusting(own) if own else None)


def authorities_of(settings: Mapping[str, Any]) -> bytes:
    """The CA that a site gives for slurmrestds at addresses of its own, in PEM; b"": the system's."""
    return rest_authorities(settings)
