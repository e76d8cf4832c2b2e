"""Control planes by the vcluster chart through Argo CD and Flux, under the contract of Kubernetes drivers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from clusters.drivers.vcluster_gitops import GitOpsSettings, ReleaseStep
from clusters.kube.step import Clients
from clusters.provisioning.steps import StepContext
from tests.contract.kube.driven import FLAVOR, Driven
from tests.kube.server import KubeServer
from tests.kube.vendor_kinds import argo_cd, flux_all
from tests.kube.vendors import Controller

SECTION: Mapping[str, Any] = {
    "public_address": "https://{cluster}.k8s.example.com:6443",
    "kubernetes": "v1.35.6",
    "replicas": 3,
    "node_to_node": True,
    "values": {"controlPlane": {"statefulSet": {"scheduling": {"priorityClassName": "tenants"}}}},
}
NODES = {"node_types": {FLAVOR.name: "dc1-metal.hgx-h100"}, "profile": "gpu-compute"}


def settings_of(controller: str, **other: object) -> dict[str, Any]:
    """A site's settings; machines are picked by auto nodes, so that another machine is another value."""
    delivery = {"controller": controller, "namespace": "argocd"}
    return {"vcluster_gitops": {**SECTION, **other}, "delivery": delivery, "vcluster_nodes": NODES}


def step_for(controller: str, *, has_fabric: bool, **other: object) -> Callable[[Clients], ReleaseStep]:
    """The step of one site."""
    settings = GitOpsSettings.from_site(settings_of(controller, **other), has_fabric=has_fabric)

    def make(clients: Clients) -> ReleaseStep:
        return ReleaseStep(settings, clients, cache=Path("/nonexistent"))

    make.__name__ = "ReleaseStep"
    return make


def before(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """The controller's namespace."""
    if server is not None:
        server.ensure_namespace("argocd")
    return ctx


def argo(server: KubeServer) -> Iterable[Controller]:
    """Argo CD."""
    del server
    return [argo_cd(delay=0.1)]


def flux(server: KubeServer) -> Iterable[Controller]:
    """Flux."""
    del server
    return flux_all(delay=0.1)


OCI = "oci://registry.example/charts"
DRIVEN = (
    Driven("gitops-argo", step_for("argo", has_fabric=True), "argocd", before=before, vendors=argo),
    Driven("gitops-flux", step_for("flux", has_fabric=False), "argocd", before=before, vendors=flux),
    Driven(
        "gitops-flux-oci",
        step_for("flux", has_fabric=False, chart_repo=OCI),
        "argocd",
        before=before,
        vendors=flux,
        variant=True,
    ),
)
