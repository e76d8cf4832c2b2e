"""When GPUs can be used: the operator says so, and every node of a pool has them to give.

Argo CD calls the operator healthy long before its drivers are built, and its policy is "ready" while no node
has registered: only what a node has allocatable counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clusters.clients.kube.models import Manifest
from clusters.drivers.gpu_operator.settings import GpuSettings
from clusters.kube.objects import READY, Readiness
from clusters.provisioning.steps import ClusterSpec, PoolSpec

POOL: Final = "freehold.io/pool"
GPU, SHARED, SLICE = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"
MIG_STATE: Final = "nvidia.com/mig.config.state"


def policy(found: Manifest) -> Readiness:
    """The one ClusterPolicy."""
    state = str((found.get("status") or {}).get("state", ""))
    if state == "ready":
        return READY
    if state == "ignored":
        return Readiness(False, "PolicyIgnored", "There is another ClusterPolicy; the operator ignores ours.")
    return Readiness(
        False, "GpuNotReady", f"The GPU Operator is {state or 'not started'}; drivers take long."
    )


def nodes(found: Iterable[Manifest], spec: ClusterSpec, settings: GpuSettings) -> Readiness:
    """Enough nodes of each pool with GPUs have as many as the flavor promises, or have divided them."""
    every = tuple(found)
    for pool in gpu_pools(spec):
        mine = of_pool(every, pool)
        wanted = pool.count or len(pool.machines)
        if len(mine) < wanted:
            return Readiness(
                False, "NodesNotReady", f"{len(mine)} of {wanted} nodes of {pool.name} are there."
            )
        for node in mine:
            state = _node(node, pool, settings)
            if not state.ready:
                return state
    return READY


def gpu_pools(spec: ClusterSpec) -> tuple[PoolSpec, ...]:
    """Pools whose nodes have GPUs."""
    return tuple(pool for pool in spec.pools if pool.flavor.gpu_count)


def of_pool(found: Iterable[Manifest], pool: PoolSpec) -> tuple[Manifest, ...]:
    """Nodes of a pool that stay, by the label that every driver of nodes gives them."""
    return tuple(
        node
        for node in found
        if (node["metadata"].get("labels") or {}).get(POOL) == pool.name
        and node["metadata"]["name"] not in pool.leaving
    )


def _node(node: Manifest, pool: PoolSpec, settings: GpuSettings) -> Readiness:
    name, sharing = node["metadata"]["name"], settings.sharing.get(pool.flavor.name)
    if (node["metadata"].get("labels") or {}).get(MIG_STATE) == "failed":
        return Readiness(False, "MigFailed", f"The GPUs of {name} could not be divided.")
    if sharing is None:
        there, wanted = allocatable(node, GPU), pool.flavor.gpu_count
    elif sharing.slices:
        there, wanted = allocatable(node, SHARED), pool.flavor.gpu_count * sharing.slices
    else:
        there, wanted = allocatable(node, SLICE), 1
    if there >= wanted:
        return READY
    return Readiness(False, "GpusMissing", f"{name} has {there} of {wanted} GPUs to give.")


def allocatable(node: Manifest, resource: str) -> int:
    """How many a node has of a resource, or of all whose names begin so with a hyphen at the end."""
    found = (node.get("status") or {}).get("allocatable") or {}
    return sum(
        int(value)
        for name, value in found.items()
        if (name.startswith(resource) if resource.endswith("-") else name == resource)
        and str(value).isdigit()
    )
