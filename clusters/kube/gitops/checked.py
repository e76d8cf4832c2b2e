"""Steps whose objects say less than people need: what they lead to is looked at as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest
from clusters.kube.gitops.installer import Installer
from clusters.kube.objects import READY, Readiness, Wanted, replicas_ready
from clusters.kube.renderers.release import Release
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import Observed, StepContext


class CheckedStep(ObjectsStep):
    """Objects in one place, and in the tenant's cluster what must work before they count as ready."""

    def __init__(self, clients: Clients, tenants: Clients) -> None:
        super().__init__(clients)
        self._tenants = tenants

    def works(self, ctx: StepContext, client: KubeClient) -> Readiness:
        """Whether what the objects lead to works; asked only when the objects themselves are ready."""
        raise NotImplementedError

    def observe(self, ctx: StepContext) -> Observed:
        """See Step."""
        seen = super().observe(ctx)
        if not (seen.exists and seen.in_sync and seen.ready):
            return seen
        state = self.works(ctx, self._tenants(ctx))
        return replace(seen, ready=state.ready, reason=state.reason, message=state.message)


class InstalledStep(CheckedStep):
    """Releases that the site's GitOps controller installs: "healthy" there is not "ready" here."""

    def __init__(self, installer: Installer, clients: Clients, tenants: Clients) -> None:
        super().__init__(clients, tenants)
        self._installer = installer

    def releases(self, ctx: StepContext) -> tuple[Release, ...]:
        """What is installed, what others need first."""
        raise NotImplementedError

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return self._installer.scopes()

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        return self._installer.install(ctx.spec, self.name, self.releases(ctx))


def workloads_ready(found: Mapping[str, Manifest], *names: str) -> Readiness:
    """Whether all of these are there, with all their replicas; the first that is not says why."""
    for name in names:
        if name not in found:
            return Readiness(False, "WorkloadMissing", f"{name} is not there yet.")
        state = replicas_ready(found[name])
        if not state.ready:
            return state
    return READY


def by_name(client: KubeClient, kind: Kind, namespace: str) -> dict[str, Manifest]:
    """All of a kind in one namespace."""
    return {str(one["metadata"]["name"]): one for one in client.list(kind, namespace=namespace)}
