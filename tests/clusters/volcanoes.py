"""A cluster with Volcano, and what its API server would list."""

from __future__ import annotations

from typing import Any

from clusters.kube import volcano
from clusters.models import Cluster, Phase, SlurmEndpoint, SlurmIdentity, Stack
from tenants.models import Tenant
from tests.clusters.builders import make_cluster, make_site
from tests.clusters.kubes import MemoryKube, give_access


def make_volcano_cluster(tenant: Tenant, *, name: str = "batch") -> Cluster:
    """Ready, with an API server and without anything of Slurm."""
    cluster = give_access(make_cluster(tenant, make_site("Vulcan"), name=name, phase=Phase.READY))
    SlurmIdentity.objects.filter(cluster=cluster).delete()
    SlurmEndpoint.objects.filter(cluster=cluster).delete()
    cluster.orders.update(stack=Stack.VOLCANO)
    Cluster.objects.filter(pk=cluster.pk).update(stack=Stack.VOLCANO, phase=Phase.READY)
    return Cluster.objects.select_related("site", "tenant").get(pk=cluster.pk)


def queue(name: str = "default", **spec: Any) -> dict[str, Any]:
    """As the API server lists it."""
    status = spec.pop("status", {"state": "Open", "running": 2, "pending": 1, "inqueue": 3})
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 4, **spec},
        "status": status,
    }


def job(
    name: str, phase: str = "Running", *, made: str = "2026-11-30T10:00:00Z", **status: Any
) -> dict[str, Any]:
    """As the API server lists it."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "train", "creationTimestamp": made},
        "spec": {
            "queue": "research",
            "minAvailable": 3,
            "tasks": [{"name": "worker", "replicas": 4, "template": {}}, {"name": "ps", "replicas": 1}],
        },
        "status": {"state": {"phase": phase}, "running": 3, "pending": 1, **status},
    }


def put(kube: MemoryKube, *manifests: dict[str, Any]) -> None:
    """Let the API server list these."""
    for one in manifests:
        kube.apply(one, volcano.QUEUE if one["kind"] == "Queue" else volcano.JOB)
