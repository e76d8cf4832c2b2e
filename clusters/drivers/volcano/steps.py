"""The steps "volcano" and "smoke" of a cluster with Volcano."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest, Ref
from clusters.drivers.volcano.settings import VolcanoSettings
from clusters.kube import kinds, objects
from clusters.kube.gitops.checked import InstalledStep, by_name, workloads_ready
from clusters.kube.gitops.installer import Installer
from clusters.kube.objects import READY, Readiness, Wanted
from clusters.kube.renderers.release import Release
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, StepContext

QUEUE: Final = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)
JOB: Final = Kind("batch.volcano.sh/v1alpha1", "Job", "jobs")
NAME, NAMESPACE, DEFAULT = "volcano", "volcano-system", "default"
PROGRAMS = ("volcano-admission", "volcano-controllers", "volcano-scheduler")
SMOKE = "freehold-smoke"
TAKEN = frozenset({"Running", "Completing", "Completed"})
OVER = frozenset({"Aborting", "Aborted", "Failed", "Terminating", "Terminated"})


class VolcanoStep(InstalledStep):
    """Ready when its three programs run and its default queue is open."""

    name = NAME
    component = "Volcano"
    system = "the site's GitOps"
    needs: tuple[str, ...] = ("gitops", "nodes", "gpu")
    deadline = dt.timedelta(minutes=20)

    def __init__(
        self, settings: VolcanoSettings, installer: Installer, clients: Clients, tenants: Clients
    ) -> None:
        super().__init__(installer, clients, tenants)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        del spec
        return (f"{NAME} {self._settings.version}",)

    def releases(self, ctx: StepContext) -> tuple[Release, ...]:
        """See InstalledStep."""
        del ctx
        settings = self._settings
        values = {"basic": {"image_tag_version": f"v{settings.version}", "image_registry": settings.registry}}
        return (Release(NAME, NAMESPACE, NAME, settings.repo, settings.version, values),)

    def works(self, ctx: StepContext, client: KubeClient) -> Readiness:
        """See InstalledStep."""
        del ctx
        state = workloads_ready(by_name(client, kinds.DEPLOYMENT, NAMESPACE), *PROGRAMS)
        return state if not state.ready else queue_open(client.get(Ref(QUEUE, DEFAULT)))


class JobStep(ObjectsStep):
    """One job of a second, which stays as the proof."""

    name = "smoke"
    component = "Volcano"
    system = "the tenant's cluster"
    needs: tuple[str, ...] = (NAME,)
    deadline = dt.timedelta(minutes=15)

    def __init__(self, settings: VolcanoSettings, clients: Clients) -> None:
        super().__init__(clients)
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        del spec
        return (f"a test job in queue {DEFAULT}",)

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        return (Scope(JOB, DEFAULT),)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        del ctx
        container = {"name": "main", "image": self._settings.image, "command": ["true"]}
        pod = {"restartPolicy": "Never", "containers": [container]}
        spec: dict[str, Any] = {
            "schedulerName": "volcano",
            "queue": DEFAULT,
            "minAvailable": 1,
            "maxRetry": 3,
            "tasks": [{"name": "main", "replicas": 1, "template": {"spec": pod}}],
        }
        body = objects.manifest(JOB, SMOKE, {"spec": spec}, namespace=DEFAULT)
        return (Wanted(JOB, body, ready=job_taken),)


def queue_open(found: Manifest | None) -> Readiness:
    """The queue that every job without another one waits in."""
    if found is None:
        return Readiness(False, "QueueMissing", f"Volcano has made no queue {DEFAULT} yet.")
    state = str((found.get("status") or {}).get("state") or "Unknown")
    return READY if state == "Open" else Readiness(False, "QueueNotOpen", f"The queue {DEFAULT} is {state}.")


def job_taken(found: Manifest) -> Readiness:
    """A job that runs or has run."""
    state = (found.get("status") or {}).get("state") or {}
    phase = str(state.get("phase") or "Pending")
    if phase in TAKEN:
        return READY
    if phase in OVER:
        return Readiness(
            False, "SmokeJobFailed", f"The test job is {phase}: {state.get('message') or ''}"[:300]
        )
    return Readiness(False, "SmokeJobWaits", f"The test job is {phase}.")
