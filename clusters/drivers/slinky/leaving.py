"""Workers on machines that go: drained first, taken away when their jobs have ended.

slurm-operator 1.2.1 takes the pods of the lowest deletion cost first when a NodeSet shrinks, and drains a
worker whose pod bears the cordon annotation. It writes each Slurm node's state as conditions of its pod.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clusters.clients.kube.client import MANAGER, KubeClient
from clusters.clients.kube.models import Manifest
from clusters.drivers.slinky import names
from clusters.kube import kinds
from clusters.kube.objects import condition_of, manifest
from clusters.provisioning.steps import ClusterSpec, PoolSpec

STATE = "SlurmNodeState"
AT_WORK = ("Allocated", "Mixed", "Completing")
GOES = {names.CORDON: "true", names.COST: "-1000"}
STAYS = {names.CORDON: "false", names.COST: "0"}


class Workers:
    """The worker pods of one look."""

    def __init__(self, pods: Iterable[Manifest], spec: ClusterSpec) -> None:
        self._pods = tuple(pods)
        self._spec = spec

    @classmethod
    def of(cls, client: KubeClient, spec: ClusterSpec) -> Workers:
        """One list."""
        return cls(client.list(kinds.POD, namespace=names.NAMESPACE), spec)

    def leaving(self, pool: PoolSpec) -> tuple[Manifest, ...]:
        """Those of a pool on machines that go."""
        return tuple(pod for pod in self._of(pool) if _node(pod) in pool.leaving)

    def busy(self) -> tuple[str, ...]:
        """The machines that go and still have work, or of which that is not known."""
        return tuple(
            _node(pod) for pool in self._spec.pools for pod in self.leaving(pool) if not _is_drained(pod)
        )

    def replicas(self, pool: PoolSpec) -> int:
        """How many workers a pool has now: those that go are kept until all of them are drained."""
        going = self.leaving(pool)
        kept = 0 if all(_is_drained(pod) for pod in going) else len(going)
        return (pool.count or len(pool.machines)) + kept

    def to_mark(self) -> tuple[Manifest, ...]:
        """Pods that are to be marked otherwise than they are, as we send them."""
        marks = []
        for pool in self._spec.pools:
            for pod in self._of(pool):
                goes = _node(pod) in pool.leaving
                if goes and not _bears(pod, GOES):
                    marks.append(_marked(pod, GOES))
                elif not goes and _is_ours(pod) and not _bears(pod, STAYS):
                    marks.append(_marked(pod, STAYS))
        return tuple(marks)

    def _of(self, pool: PoolSpec) -> Iterable[Manifest]:
        form = re.compile(re.escape(names.node_set(pool.name)) + r"-\d+")
        return (pod for pod in self._pods if form.fullmatch(pod["metadata"]["name"]))


def _node(pod: Manifest) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def _bears(pod: Manifest, annotations: dict[str, str]) -> bool:
    found = pod["metadata"].get("annotations") or {}
    return all(found.get(name) == value for name, value in annotations.items())


def _is_ours(pod: Manifest) -> bool:
    """Whether we marked it once: a person's own cordon stays."""
    return any(
        entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
        for entry in pod["metadata"].get("managedFields") or ()
    )


def _is_drained(pod: Manifest) -> bool:
    return _is(pod, "Drain") and not any(_is(pod, state) for state in AT_WORK)


def _is(pod: Manifest, state: str) -> bool:
    condition = condition_of(pod, STATE + state)
    return condition is not None and condition.get("status") == "True"


def _marked(pod: Manifest, annotations: dict[str, str]) -> Manifest:
    meta = pod["metadata"]
    body = manifest(kinds.POD, meta["name"], {}, namespace=meta["namespace"], annotations=annotations)
    # with its uid: never makes a pod, and never marks its successor
    return {**body, "metadata": {**body["metadata"], "uid": meta["uid"]}}
