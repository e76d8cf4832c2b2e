"""Opens sessions with a cluster's slurmrestd, wherever it is: directly, or behind the tenant's API server."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from django.db.models import OuterRef, Subquery

from clusters.clients.kube.client import KubeClient
from clusters.drivers.slinky.settings import rest_authorities
from clusters.kube import tenant
from clusters.models import ClusterSecret, SlurmEndpoint
from portal.lib.crypto import unseal
from portal.lib.http import Outside
from portal.lib.tls import trusting
from tenants.scoping import TenantQuerySet

MOST_KEPT = 64  # sessions of one process
IDLE = 60.0  # seconds after which a kept session is closed, when the next one is opened
_KEPT_ACCESS = ClusterSecret.objects.filter(cluster_id=OuterRef("cluster_id"), name=tenant.KEPT_AS)
_ENDPOINTS = SlurmEndpoint.objects.select_related("cluster__site").annotate(
    sealed_access=Subquery(_KEPT_ACCESS.values("sealed")[:1])
)
_FOR_SESSIONS = _ENDPOINTS.only(
    "cluster_id", "url", "api_version", "sealed_jwt_key", "cluster__site__settings"
)


def endpoints() -> TenantQuerySet[Any]:
    """Rows of SlurmEndpoint with all that a session needs, in one query."""
    return _ENDPOINTS.all()


def endpoint_of(cluster_id: uuid.UUID) -> SlurmEndpoint | None:
    """What a session needs, and no more."""
    return _FOR_SESSIONS.filter(cluster_id=cluster_id).first()


def session_for(endpoint: SlurmEndpoint, *, timeout: float) -> Outside:
    """For this endpoint's address; to be closed. Raises PermanentError SealBroken or BadSiteSettings.

    An address below the tenant's API server is spoken to with its CA and the portal's credential there, as
    the step that renews it has kept it last. The credential is sent to no other address.
    """
    sealed = _sealed_access(endpoint)
    if sealed:
        access = tenant.unpack(unseal(sealed))
        if endpoint.url.startswith(f"{access.server}{access.prefix}/api/"):
            return KubeClient(access).through(endpoint.url, timeout=timeout)
    own = authorities_of(endpoint.cluster.site.settings) if endpoint.url.startswith("https:") else b""
    return Outside(endpoint.url, timeout=timeout, tls=trusting(own) if own else None)


class KeptSessions:
    """Sessions of this process that stay open between acts, so that not each of them connects anew.

    One for each account: whoever slurmrestd takes a connection for, it is the same person's. A credential or
    an authority that was changed makes another session.
    """

    def __init__(self) -> None:
        self._all: OrderedDict[tuple[object, ...], tuple[Outside, float]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, endpoint: SlurmEndpoint, account: str, *, timeout: float) -> Outside:
        """As session_for, but not to be closed: others may be using it."""
        own = rest_authorities(endpoint.cluster.site.settings) if endpoint.url.startswith("https:") else b""
        key = (endpoint.url, account, _sealed_access(endpoint), own)
        with self._lock:
            found = self._all.pop(key, None)
            session = found[0] if found else session_for(endpoint, timeout=timeout)
            self._all[key] = session, time.monotonic()
            self._close_old()
        return session

    def _close_old(self) -> None:
        """The least used first; who still waits for an answer on one gets it."""
        while len(self._all) > 1:
            key, (session, used) = next(iter(self._all.items()))
            if len(self._all) <= MOST_KEPT and time.monotonic() - used < IDLE:
                return
            del self._all[key]
            session.close()


kept = KeptSessions()


def _sealed_access(endpoint: SlurmEndpoint) -> bytes:
    """The credential at the tenant's API server as it is kept; b"" where there is none."""
    if not hasattr(endpoint, "sealed_access"):
        found = ClusterSecret.objects.filter(cluster_id=endpoint.cluster_id, name=tenant.KEPT_AS).first()
        return bytes(found.sealed) if found else b""
    return bytes(endpoint.sealed_access or b"")


def authorities_of(settings: Mapping[str, Any]) -> bytes:
    """The CA that a site gives for slurmrestds at addresses of its own, in PEM; b"": the system's."""
    return rest_authorities(settings)
