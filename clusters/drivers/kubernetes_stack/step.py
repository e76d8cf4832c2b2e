"""The step "kubernetes": when a cluster without any further stack can be used."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.kube import kinds, objects
from clusters.kube.objects import READY, Readiness, Wanted, condition_of, replicas_ready
from clusters.kube.sinks import Scope
from clusters.kube.site_settings import Section
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext

QUOTA: Final = Kind("v1", "ResourceQuota", "resourcequotas")
SECTION, NAME, DEFAULT, SYSTEM = "kubernetes_stack", "freehold", "default", "kube-system"
GPU: Final = "requests.nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """Validated: the section "kubernetes_stack" of a site's settings."""

    pods: int = 500  # at most, in the namespace "default"
    volumes: int = 50

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> KubernetesSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section({SECTION: {}, **settings}, SECTION, ("pods", "volumes"))
        return cls(
            pods=section.number("pods", 500, least=1, most=100_000),
            volumes=section.number("volumes", 50, least=0, most=10_000),
        )


class KubernetesStep(ObjectsStep):
    """A quota for the namespace "default", where people begin: all the GPUs that they have ordered."""

    name = "kubernetes"
    component = "Kubernetes"
    system = "the tenant's cluster"
    needs: tuple[str, ...] = ("control-plane", "access", "nodes", "gpu")
    deadline = dt.timedelta(minutes=30)

    def __init__(self, settings: KubernetesSettings, clients: Clients) -> None:
        super().__init__(clients)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return (f"a quota in namespace {DEFAULT}: {self._settings.pods} pods, {_gpus(spec)} GPUs",)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (Scope(QUOTA, DEFAULT),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        hard = {
            "pods": str(self._settings.pods),
            "persistentvolumeclaims": str(self._settings.volumes),
            GPU: str(_gpus(ctx.spec)),
        }
        body = objects.manifest(QUOTA, NAME, {"spec": {"hard": hard}}, namespace=DEFAULT)
        return (Wanted(QUOTA, body),)

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """See ObjectsStep."""
        del found
        return {"gpus": str(_gpus(ctx.spec))}

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        seen = super().observe(ctx)
        if not (seen.exists and seen.in_sync and seen.ready):
            return seen
        state = usable(self.client(ctx), ctx.spec)
        return replace(seen, ready=state.ready, reason=state.reason, message=state.message)


def usable(client: KubeClient, spec: ClusterSpec) -> Readiness:
    """All nodes are ready, and every service of the cluster's own that is there runs."""
    state = _nodes(client.list(kinds.NODE), spec)
    if not state.ready:
        return state
    for found in client.list(kinds.DEPLOYMENT, namespace=SYSTEM):
        state = replicas_ready(found)
        if not state.ready:
            return state
    return READY


def _nodes(found: Iterable[Manifest], spec: ClusterSpec) -> Readiness:
    wanted = sum(pool.count or len(pool.machines) for pool in spec.pools)
    leaving = {machine for pool in spec.pools for machine in pool.leaving}
    every = [one for one in found if one["metadata"]["name"] not in leaving]
    well = sum(1 for one in every if (condition_of(one, "Ready") or {}).get("status") == "True")
    if well < wanted:
        return Readiness(False, "NodesNotReady", f"{well} of {wanted} nodes are ready.")
    return READY


def _gpus(spec: ClusterSpec) -> int:
    return sum(pool.flavor.gpu_count * (pool.count or len(pool.machines)) for pool in spec.pools)
