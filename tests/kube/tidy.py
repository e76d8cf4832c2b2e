"""Takes away what an earlier test left on the session's server."""

from __future__ import annotations

import time

from clusters.clients.kube.models import Ref
from clusters.kube import kinds
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

DEADLINE = 20.0


def clear_namespace(server: KubeServer, name: str) -> None:
    """A namespace that nobody needs any more; what stands in it must be gone or nobody's."""
    hands, ref = Hands(server.client), Ref(kinds.NAMESPACE, name)
    end = time.monotonic() + DEADLINE
    while (found := server.client.get(ref)) is not None:
        assert time.monotonic() < end, found
        server.client.delete(ref, uid=found["metadata"]["uid"])
        hands.put(f"/api/v1/namespaces/{name}/finalize", {**found, "spec": {"finalizers": []}})
