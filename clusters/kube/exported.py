"""Reads the kubeconfig that a vCluster exports into a Secret of its host cluster."""

from __future__ import annotations

import base64
import binascii

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Ref
from clusters.kube import foreign, kinds
from portal.lib.errors import PermanentError, TemporaryError

KEY = "config"  # beside certificate-authority, client-certificate, client-key and token


def read(client: KubeClient, name: str, *, namespace: str, public_server: str = "") -> Access:
    """Raises TemporaryError KubeconfigNotReady until it is there, PermanentError KubeconfigRefused."""
    found = client.get(Ref(kinds.SECRET, name, namespace))
    coded = ((found or {}).get("data") or {}).get(KEY)
    if not coded:
        raise TemporaryError("KubeconfigNotReady", "The cluster has not exported its kubeconfig yet.")
    try:
        content = base64.b64decode(coded, validate=True)
    except (binascii.Error, TypeError) as error:
        raise PermanentError(
            "KubeconfigRefused",
            "The exported kubeconfig is not base64. Nothing of it was used.",
            hint="See what writes the Secret.",
        ) from error
    return foreign.parse(content, public_server=public_server)
