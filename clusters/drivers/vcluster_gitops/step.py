"""The control-plane step: a namespace and a release of the vcluster chart, which Argo CD or Flux installs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.drivers.vcluster_gitops import repository
from clusters.drivers.vcluster_gitops.settings import GitOpsSettings
from clusters.drivers.vcluster_gitops.values import values
from clusters.kube import kinds, objects
from clusters.kube.git_sink import GitCommit
from clusters.kube.gitops.settings import FLUX
from clusters.kube.objects import Wanted
from clusters.kube.renderers import argo, flux
from clusters.kube.renderers.release import Release
from clusters.kube.sinks import Scope, Sink
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext

HERE: Final = "in-cluster"  # Argo CD's own name for the cluster that it runs in
IN_CLUSTER: Final = "https://kubernetes.default.svc"
CHART: Final = "vcluster"


class ReleaseStep(ObjectsStep):
    """Private nodes, embedded etcd, and a kubeconfig exported for the portal."""

    name = "control-plane"
    needs: tuple[str, ...] = ("machines", "fabric")
    deadline = dt.timedelta(minutes=30)

    def __init__(self, settings: GitOpsSettings, clients: Clients, *, cache: Path) -> None:
        super().__init__(clients)
        self._settings = settings
        self._cache = cache
        self.component = "Flux" if self._is_flux else "Argo CD"
        self.system = "the site's Git repository" if settings.git else f"{self.component} of the provider"

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return (
            f"namespace {self._settings.namespace(spec)}",
            f"release {spec.name} of chart vcluster {self._settings.chart_version}",
        )

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """The controller's namespace, and namespaces themselves."""
        del ctx
        listed: tuple[Kind, ...] = (argo.PROJECT, argo.APPLICATION)
        if self._is_flux:
            source = flux.OCI if self._settings.chart_repo.startswith("oci://") else flux.CLASSIC
            listed = (source, flux.RELEASE)
        return (
            Scope(kinds.NAMESPACE),
            *(Scope(kind, self._settings.delivery.namespace) for kind in listed),
        )

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """The namespace is ours, not the controller's: what it creates itself it would leave behind."""
        return (objects.namespace(self._settings.namespace(ctx.spec)), *self._installed(ctx.spec))

    def facts(self, ctx: StepContext, found: Mapping[Ref, Manifest]) -> Mapping[str, str]:
        """Where the API server is."""
        del found
        return {"endpoint": self._settings.address(ctx.spec), "chart": self._settings.chart_version}

    def sink(self, ctx: StepContext) -> Sink:
        """A commit where the site has a repository, else the API server."""
        git = self._settings.git
        if git is None:
            return super().sink(ctx)
        return GitCommit(repository.branch(git, ctx, self._cache), git.folder)

    @property
    def _is_flux(self) -> bool:
        return self._settings.delivery.controller == FLUX

    def _installed(self, spec: ClusterSpec) -> Iterator[Wanted]:
        settings = self._settings
        release = Release(
            name=spec.name,
            namespace=settings.namespace(spec),
            chart=CHART,
            repo=settings.chart_repo,
            version=settings.chart_version,
            values=values(spec, settings),
        )
        if self._is_flux:
            yield from flux.release(release, flux.Target(settings.delivery.namespace, "vc"))
            return
        target = argo.Target(settings.delivery.namespace, HERE, IN_CLUSTER, f"{spec.name}-vcluster")
        yield self._project(spec, target, release)
        yield argo.application(release, target)

    def _project(self, spec: ClusterSpec, target: argo.Target, release: Release) -> Wanted:
        """Holds the release to its namespace; outside of it, it may add the chart's own cluster roles."""
        rbac = "rbac.authorization.k8s.io"
        body = {
            "spec": {
                "description": f"The control plane of cluster {spec.name} of tenant {spec.tenant}.",
                "sourceRepos": [release.oci_url if release.is_oci else release.repo],
                "destinations": [
                    {"name": HERE, "server": IN_CLUSTER, "namespace": self._settings.namespace(spec)}
                ],
                "clusterResourceWhitelist": [
                    {"group": rbac, "kind": "ClusterRole"},
                    {"group": rbac, "kind": "ClusterRoleBinding"},
                    {"group": "", "kind": "Namespace"},
                ],
            }
        }
        made = objects.manifest(argo.PROJECT, target.project, body, namespace=target.argocd)
        return Wanted(argo.PROJECT, made)
