"""When Slinky's objects work: their conditions stay empty, so it is derived from counts and workloads.

Source: the operator's own status writers (slurm-operator 1.2.1), reference table 1.1.2.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest
from clusters.drivers.slinky import names
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.kube import kinds
from clusters.kube.gitops.checked import by_name, workloads_ready
from clusters.kube.objects import READY, Readiness
from clusters.provisioning.steps import ClusterSpec, PoolSpec


def node_set(found: Manifest) -> Readiness:
    """Every worker registered, none down or drained, and no status of before the last change."""
    name, status = found["metadata"]["name"], found.get("status") or {}
    wanted = int((found.get("spec") or {}).get("replicas", 1))
    counts = {key: int(status.get(key) or 0) for key in ("desired", "updatedReplicas", "readyReplicas")}
    if counts["desired"] != wanted:
        return Readiness(False, "NotSeenYet", f"{name} was not looked at by slurm-operator yet.")
    if min(counts.values()) < wanted:
        told = f"{counts['readyReplicas']} of {wanted} workers of {name} are ready"
        return Readiness(False, "NodesNotReady", f"{told}, {counts['updatedReplicas']} are up to date.")
    for key, word in (("slurmDown", "down"), ("slurmDrain", "drained")):
        if int(status.get(key) or 0):
            return Readiness(False, "NodesNotUsable", f"{status[key]} nodes of {name} are {word} in Slurm.")
    return READY


def workloads(client: KubeClient, spec: ClusterSpec, settings: SlinkySettings) -> Readiness:
    """What the operator made of our objects: pods of slurmctld, slurmdbd, slurmrestd, login and workers.

    One list a kind. slurmdbd is told of first: slurmctld never becomes healthy before it.
    """
    daemons = [f"{names.RELEASE}-controller"]
    if settings.database:
        daemons.insert(0, f"{names.RELEASE}-accounting")
    others = [names.SERVICE, *([names.login_set()] if settings.login.replicas else [])]
    for kind, wanted in ((kinds.STATEFUL_SET, daemons), (kinds.DEPLOYMENT, others)):
        state = workloads_ready(by_name(client, kind, names.NAMESPACE), *wanted)
        if not state.ready:
            return state
    return _workers(by_name(client, names.NODE_SET, names.NAMESPACE), spec)


def _workers(found: Mapping[str, Manifest], spec: ClusterSpec) -> Readiness:
    for pool in spec.pools:
        name = names.node_set(pool.name)
        if not wanted_workers(pool) and name not in found:
            continue
        if name not in found:
            return Readiness(False, "WorkloadMissing", f"NodeSet {name} is not there yet.")
        state = node_set(found[name])
        if not state.ready and not (state.reason == "NodesNotUsable" and pool.leaving):
            return state
        if int(found[name]["spec"].get("replicas", 1)) < wanted_workers(pool):
            return Readiness(False, "NodesNotReady", f"NodeSet {name} was not changed yet.")
    return READY


def wanted_workers(pool: PoolSpec) -> int:
    """How many workers a pool has when all is as wanted."""
    return pool.count or len(pool.machines)
