"""Runs Slurm's own programs in the pods that slurm-operator made of our objects (1.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest, Ref
from clusters.clients.kube.running import Ended
from clusters.clients.slurm_console.pod import PodConsole
from clusters.clients.slurmrest import errors
from clusters.drivers.slinky import names
from clusters.kube import kinds
from clusters.kube.objects import condition_of

INSTANCE: Final = "app.kubernetes.io/instance"  # of what a pod is one
LOGIN: Final = "login"  # a container, as the next one, which has sacctmgr and runs as SlurmUser
CONTROLLER: Final = "slurmctld"
CONTROLLER_POD: Final = f"{names.RELEASE}-controller-0"


def console(client: KubeClient, *, uid: int, gid: int, timeout: float) -> PodConsole:
    """Of an account of the cluster, in a login pod that is ready when it is asked for something."""

    def run(command: Sequence[str], *, timeout: float, take: Callable[[bytes], object]) -> Ended:
        pod = login_pod(client)
        return client.run(pod, LOGIN, command, timeout=timeout, take=take)

    return PodConsole(run, uid, gid, timeout)


def login_pod(client: KubeClient) -> Ref:
    """One that is ready. Raises NotReachable where there is none."""
    found = client.list(kinds.POD, namespace=names.NAMESPACE, labels={INSTANCE: names.login_set()})
    ready = sorted(pod["metadata"]["name"] for pod in found if _is_ready(pod))
    if not ready:
        raise errors.NotReachable("The cluster has no login pod that is ready.")
    return Ref(kinds.POD, ready[0], names.NAMESPACE)


def _is_ready(pod: Manifest) -> bool:
    condition = condition_of(pod, "Ready")
    is_going = bool(pod["metadata"].get("deletionTimestamp"))
    return not is_going and condition is not None and condition.get("status") == "True"
