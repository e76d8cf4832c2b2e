"""What each vendor's controller writes, as the reference and the vendors' own types say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.clients.kube.models import Kind, Manifest
from clusters.kube import kinds
from clusters.kube.renderers import argo, flux
from tests.kube.vendors import Status, Vendor

THEN = "2026-01-01T00:00:00Z"
SLINKY = "slinky.slurm.net/v1beta1"
PLATFORM = "management.loft.sh/v1"
# of a VirtualClusterInstance, nearly in the order of events
CONDITIONS = (
    "Scheduled",
    "TemplateResolved",
    "TemplateSynced",
    "SpaceSynced",
    "SpaceReady",
    "VirtualClusterDeployed",
    "VirtualClusterSynced",
    "VirtualClusterReady",
    "VirtualClusterOnline",
    "NodesProvisioned",
)


def condition(kind: str, value: str = "True", reason: str = "", message: str = "") -> dict[str, Any]:
    """A condition as most vendors write it."""
    return {
        "type": kind,
        "status": value,
        "lastTransitionTime": THEN,
        "reason": reason or kind,
        "message": message,
    }


def after(delay: float, then: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Status:
    """One status after a while, another one until then."""
    return lambda _found, age: then if age >= delay else before


def generation_of(found: Manifest) -> int:
    """The generation that a controller has seen."""
    return int(found["metadata"].get("generation") or 1)


# -- Kubernetes itself


def workload(kind: Kind, *, delay: float = 0) -> Vendor:
    """Deployments or StatefulSets whose pods all come up."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        if age < delay:
            return None
        count = int(found["spec"].get("replicas", 1))
        counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), count)
        return {**counts, "observedGeneration": generation_of(found)}

    return Vendor(kind, status)


# -- GitOps


def argo_cd(*, delay: float = 0, health: str = "Healthy", error: str = "") -> Vendor:
    """Syncs each Application; with `error` it never can."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        if error:
            return {"conditions": [condition("ComparisonError", message=error)]}
        if age < delay:
            return {"sync": {"status": "OutOfSync"}, "health": {"status": "Missing"}}
        compared = {"source": found["spec"].get("source"), "destination": found["spec"]["destination"]}
        return {
            "sync": {"status": "Synced", "revision": "1", "comparedTo": compared},
            "health": {"status": health},
        }

    return Vendor(argo.APPLICATION, status, finalizer=argo.FINALIZER, subresource="")


def flux_ready(kind: Kind, *, delay: float = 0) -> Vendor:
    """A Flux object that becomes Ready for the generation that it has."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        seen = generation_of(found)
        value = "True" if age >= delay else "Unknown"
        ready = {
            **condition("Ready", value, "Succeeded" if age >= delay else "Progressing"),
            "observedGeneration": seen,
        }
        return {"observedGeneration": seen, "conditions": [ready]}

    return Vendor(kind, status, finalizer="finalizers.fluxcd.io")


def flux_all(*, delay: float = 0) -> list[Vendor]:
    """The controllers of Flux that we use."""
    return [flux_ready(kind, delay=delay) for kind in (flux.OCI, flux.CLASSIC, flux.RELEASE)]


# -- vCluster Platform


def projects() -> Vendor:
    """Each Project gets its namespace."""

    def children(found: Manifest) -> list[tuple[Kind, Manifest]]:
        name = f"p-{found['metadata']['name']}"
        return [(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})]

    kind = Kind(PLATFORM, "Project", "projects", namespaced=False)
    return Vendor(kind, children=children, finalizer="loft.sh/cleanup")


def instances(*, pace: float = 0.05, fails_at: str = "", order: Sequence[str] = CONDITIONS) -> Vendor:
    """Goes through the conditions, one every `pace` seconds, in any order; may fail at one."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        del found
        done = order[: int(age / pace)] if pace else order
        if fails_at in done:
            bad = {**condition(fails_at, "False", "Broken", "it broke"), "severity": "Error"}
            return {"phase": "Failed", "reason": "Broken", "message": "it broke", "conditions": [bad]}
        all_of_it = len(done) == len(order)
        listed = [condition(name, "True" if name in done else "False") for name in CONDITIONS]
        return {"phase": "Ready" if all_of_it else "Pending", "online": all_of_it, "conditions": listed}

    kind = Kind(PLATFORM, "VirtualClusterInstance", "virtualclusterinstances")
    return Vendor(kind, status, finalizer="loft.sh/cleanup")


# -- Slinky: conditions stay empty, workloads tell


def slinky(name: str, workload_kind: Kind, suffix: str) -> Vendor:
    """A Controller, Accounting or RestApi with the workload that the operator makes for it."""

    def children(found: Manifest) -> list[tuple[Kind, Manifest]]:
        meta = found["metadata"]
        pod = {"containers": [{"name": "main", "image": "registry.invalid/main:1"}]}
        labels = {"app": f"{meta['name']}{suffix}"}
        spec: dict[str, Any] = {
            "replicas": found["spec"].get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        if workload_kind == kinds.STATEFUL_SET:
            spec["serviceName"] = labels["app"]
        where = {"name": labels["app"], "namespace": meta["namespace"]}
        made = {"apiVersion": "apps/v1", "kind": workload_kind.kind, "metadata": where, "spec": spec}
        return [(workload_kind, made)]

    return Vendor(Kind(SLINKY, name, f"{name.lower()}s"), children=children)


def node_sets(*, delay: float = 0, down: int = 0) -> Vendor:
    """NodeSets whose slurmds register after a while."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        count = int(found["spec"].get("replicas", 1))
        ready = count - down if age >= delay else 0
        return {
            "desired": count,
            "replicas": count,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": count,
            "slurmIdle": ready,
            "slurmDown": down,
            "slurmDrain": 0,
            "unavailableReplicas": count - ready,
            "nodeSetHash": "1",
            "selector": "app=slurmd",
        }

    return Vendor(Kind(SLINKY, "NodeSet", "nodesets"), status)


def slurm_operator(*, delay: float = 0) -> list[Vendor]:
    """All that slurm-operator and Kubernetes make of a cluster's objects."""
    return [
        slinky("Controller", kinds.STATEFUL_SET, "-controller"),
        slinky("Accounting", kinds.STATEFUL_SET, "-accounting"),
        slinky("RestApi", kinds.DEPLOYMENT, "-restapi"),
        slinky("LoginSet", kinds.DEPLOYMENT, ""),
        node_sets(delay=delay),
        workload(kinds.STATEFUL_SET),
        workload(kinds.DEPLOYMENT),
    ]


# -- others


def gpu_operator(*, delay: float = 0, state: str = "ready") -> Vendor:
    """The one ClusterPolicy; ready says nothing of the nodes' GPUs."""
    kind = Kind("nvidia.com/v1", "ClusterPolicy", "clusterpolicies", namespaced=False)
    return Vendor(kind, after(delay, {"state": state}, {"state": "notReady"}))


def volcano_queues(*, delay: float = 0) -> Vendor:
    """Queues that open."""
    kind = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)
    return Vendor(kind, after(delay, {"state": "Open"}, {"state": "Unknown"}))
