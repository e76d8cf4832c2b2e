"""The portal's own way into a tenant's API server, as the control-plane step of any driver keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from clusters.clients.kube.models import Access
from portal.lib.errors import TemporaryError

KEPT_AS = "tenant-kube"  # its name among a cluster's secrets
NO_ACCESS = "NoAccessYet"


def pack(access: Access) -> bytes:
    """For StepContext.keep: everything that a client needs, in one secret."""
    content = {
        "server": access.server,
        "prefix": access.prefix,
        "ca": access.ca_pem.decode("ascii"),
        "token": access.token,
        "certificate": access.certificate_pem.decode("ascii"),
        "key": access.key_pem.decode("ascii"),
    }
    return json.dumps(content).encode()


def unpack(kept: bytes) -> Access:
    """What `pack` packed."""
    content = json.loads(kept)
    return Access(
        content["server"],
        content["ca"].encode("ascii"),
        token=content["token"],
        certificate_pem=content["certificate"].encode("ascii"),
        key_pem=content["key"].encode("ascii"),
        prefix=content["prefix"],
    )


def access_of(secrets: Mapping[str, bytes]) -> Access:
    """From a step's secrets. Raises TemporaryError while the control plane has not given any."""
    kept = secrets.get(KEPT_AS)
    if not kept:
        raise TemporaryError(NO_ACCESS, "The portal has no access to the cluster's API server yet.")
    return unpack(kept)
