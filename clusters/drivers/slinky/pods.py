"""What Slurm's pods have in common: where they run, and which files they see."""

from __future__ import annotations

from typing import Any

from clusters.drivers.slinky import names
from clusters.drivers.slinky.settings import FILES, SlinkySettings
from clusters.provisioning.steps import PoolSpec

POOL = "freehold.io/pool"  # the label of nodes, as every driver of nodes gives it
GPU = "nvidia.com/gpu"
TOLERATIONS = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
VNODE = "vnode"  # the RuntimeClass that the vnode-runtime chart brings
EXTRA_USERS = "/var/lib/extrausers"


def volumes(settings: SlinkySettings, *, home: bool) -> list[dict[str, Any]]:
    """Volumes of a pod. The identity comes later than the pods, and they follow it without a restart."""
    found: list[dict[str, Any]] = []
    if settings.identity == FILES:
        found += [
            {"name": "identity", "configMap": {"name": names.IDENTITY, "optional": True}},
            {"name": "nsswitch", "configMap": {"name": names.SWITCH}},
        ]
    if home and settings.home is not None:
        found.append({"name": "home", "persistentVolumeClaim": {"claimName": names.HOME}})
    return found


def mounts(settings: SlinkySettings, *, home: bool) -> list[dict[str, Any]]:
    """Where its container sees them."""
    found: list[dict[str, Any]] = []
    if settings.identity == FILES:
        switch = {"name": "nsswitch", "mountPath": "/etc/nsswitch.conf", "subPath": names.SWITCH_FILE}
        found += [
            {"name": "identity", "mountPath": EXTRA_USERS, "readOnly": True},
            {**switch, "readOnly": True},
        ]
    if home and settings.home is not None:
        found.append({"name": "home", "mountPath": "/home"})
    return found


def own(settings: SlinkySettings, *, home: bool = False, people: bool = False) -> dict[str, Any]:
    """The pod's own part; `people` marks pods in which people's programs run."""
    pod: dict[str, Any] = {"volumes": volumes(settings, home=home)}
    if people and settings.vnode:
        pod["runtimeClassName"] = VNODE
    if settings.images.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.images.pull_secrets]
    return {name: value for name, value in pod.items() if value}


def worker(pool: PoolSpec, settings: SlinkySettings) -> dict[str, Any]:
    """A worker's pod: one on each node of its pool, with all of that node."""
    pod = own(settings, home=True, people=True)
    return {**pod, "nodeSelector": {POOL: pool.name}, "tolerations": TOLERATIONS}


def limits(pool: PoolSpec, settings: SlinkySettings) -> dict[str, Any]:
    """All of a node but what others need there; a limit of GPUs below all of them did not always hold."""
    flavor = pool.flavor
    found: dict[str, Any] = {
        "cpu": str(max(flavor.cpus - settings.spare_cpus, 1)),
        "memory": f"{max(flavor.memory_mib - settings.spare_mib, flavor.memory_mib // 2)}Mi",
    }
    return {**found, GPU: flavor.gpu_count} if flavor.gpu_count else found
