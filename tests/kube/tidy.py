"""Takes away what an earlier test left on the session's server."""

from __future__ import annotations

import time

from clusters.clients.kube.models import Ref, ref_of
from clusters.drivers.gpu_operator.shapes import POLICY
from clusters.drivers.slinky.names import NODE_SET
from clusters.drivers.volcano.steps import QUEUE
from clusters.kube import kinds
from tests.kube.charts import INSTALLED, KINDS
from tests.kube.server import KubeServer
from tests.kube.vendors import Hands

DEADLINE = 60.0


def clear_namespace(server: KubeServer, name: str) -> None:
    """A namespace that nobody needs any more; what stands in it must be gone or nobody's."""
    hands, ref = Hands(server.client), Ref(kinds.NAMESPACE, name)
    end = time.monotonic() + DEADLINE
    while (found := server.client.get(ref)) is not None:
        assert time.monotonic() < end, found
        server.client.delete(ref, uid=found["metadata"]["uid"])
        hands.put(f"/api/v1/namespaces/{name}/finalize", {**found, "spec": {"finalizers": []}})


def clear_tenant(server: KubeServer) -> None:
    """Of a tenant's cluster, which this server plays too, what stands under the same names for each."""
    clear_installed(server)
    for name in ("freehold", "slurm"):
        clear_namespace(server, name)


def clear_installed(server: KubeServer) -> None:
    """What the charts of an earlier test led to: its controllers ended with it."""
    hands = Hands(server.client)
    for kind in (*KINDS, NODE_SET, POLICY, QUEUE):
        for found in server.client.list(kind, labels={INSTALLED: "yes"}):
            hands.release(ref_of(found, kind))
