"""A step that no site has: it shows that the contract itself works, with one object of each sort."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds, objects
from clusters.kube.objects import READY, Readiness, Wanted
from clusters.kube.sinks import Scope
from clusters.kube.step import ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext
from tests.contract.kube.driven import Driven
from tests.kube.server import KubeServer
from tests.kube.tidy import clear_namespace
from tests.kube.vendor_kinds import node_sets
from tests.kube.vendors import Controller, Hands

SETS = Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")
SPACE = "sample"


def registered(found: Manifest) -> Readiness:
    """All slurmds are there."""
    status: Mapping[str, Any] = found.get("status") or {}
    fine = status.get("readyReplicas") == found["spec"]["replicas"]
    return READY if fine else Readiness(False, "NodesNotReady", "Not all nodes are there.")


class SampleStep(ObjectsStep):
    """A namespace, a Secret, a ConfigMap per machine and a NodeSet per pool."""

    name = "sample"
    component = "Sample"
    system = "the tenant's cluster"
    deadline = dt.timedelta(minutes=1)

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return tuple(f"NodeSet {pool.name}" for pool in spec.pools)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (
            Scope(kinds.NAMESPACE),
            Scope(kinds.SECRET, SPACE),
            Scope(kinds.CONFIG_MAP, SPACE),
            Scope(SETS, SPACE),
        )

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        key = {"slurm.key": ctx.secrets["sample"]}
        return (
            objects.namespace(SPACE),
            objects.secret("key", key, namespace=SPACE),
            *(self._machine(name) for pool in ctx.spec.pools for name in pool.machines),
            *(self._set(pool.name, len(pool.machines)) for pool in ctx.spec.pools),
        )

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """See ObjectsStep."""
        del ctx
        return {"things": str(len(found))}

    def _machine(self, name: str) -> Wanted:
        return objects.config_map(f"machine-{name}", {"name": name}, namespace=SPACE)

    def _set(self, name: str, count: int) -> Wanted:
        limits = {"nvidia.com/gpu": 8, "memory": "1900Gi", "cpu": "1840m"}
        tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        spec = {
            "controllerRef": {"name": "slurm"},
            "replicas": count,
            "extraConf": "Gres=gpu:h100:8",
            "slurmd": {"image": "registry.invalid/slurmd:1", "resources": {"limits": limits}},
            "template": {"spec": {"hostname": f"{name}-", "tolerations": tolerations}},
        }
        body = objects.manifest(SETS, name, {"spec": spec}, namespace=SPACE)
        return Wanted(SETS, body, ready=registered)


def before(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """The key that an earlier step kept; and nothing that another test on this server left half-way."""
    if server is not None:
        hands = Hands(server.client)
        for kind in (kinds.SECRET, kinds.CONFIG_MAP, SETS):
            for found in server.client.list(kind, namespace=SPACE):
                hands.release(ref_of(found, kind))
        clear_namespace(server, SPACE)
    return StepContext(spec=ctx.spec, secrets={"sample": b"s3cr3t-of-the-sample-step-0123456789"})


def vendors(server: KubeServer) -> Iterable[Controller]:
    """slurm-operator."""
    del server
    return [node_sets(delay=0.1)]


DRIVEN = (Driven("sample", SampleStep, "tenant", before=before, vendors=vendors),)
