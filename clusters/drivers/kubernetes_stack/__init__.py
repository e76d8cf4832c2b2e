"""Plain Kubernetes as a stack: nodes that are ready, the cluster's own services, and a quota."""

from __future__ import annotations

from clusters.drivers.kubernetes_stack.step import KubernetesSettings, KubernetesStep
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step

__all__ = ["KubernetesSettings", "KubernetesStep", "steps"]


def steps(settings: KubernetesSettings, tenants: Clients) -> tuple[Step, ...]:
    """The one step."""
    return (KubernetesStep(settings, tenants),)
