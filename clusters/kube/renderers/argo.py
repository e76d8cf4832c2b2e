"""Argo CD: an AppProject and a cluster Secret per tenant cluster, an Application per release.

Argo's own "Healthy" says little about these charts' kinds: a step judges those itself, and takes from an
Application only that it was synced, or why not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from clusters.clients.kube.models import Access, Kind, Manifest
from clusters.kube import objects
from clusters.kube.objects import READY, Readiness, Wanted
from clusters.kube.renderers.release import Release

APPLICATION: Final = Kind("argoproj.io/v1alpha1", "Application", "applications")
PROJECT: Final = Kind("argoproj.io/v1alpha1", "AppProject", "appprojects")
FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
OPTIONS: Final = ("CreateNamespace=true", "ServerSideApply=true", "SkipDryRunOnMissingResource=true")
SYNC: Final[Mapping[str, Any]] = {
    "automated": {"prune": True, "selfHeal": True},
    "retry": {"limit": 10, "backoff": {"duration": "30s", "factor": 2, "maxDuration": "5m"}},
    "syncOptions": list(OPTIONS),
}


@dataclass(frozen=True, slots=True)
class Target:
    """Argo CD's namespace, and the cluster that it installs into under the name of its cluster Secret."""

    argocd: str
    cluster: str
    server: str
    project: str


def cluster_secret(target: Target, access: Access, *, labels: Mapping[str, str] | None = None) -> Wanted:
    """Tells Argo CD how to reach the cluster; only Applications of its project may."""
    config = {
        "bearerToken": access.token,
        "tlsClientConfig": {"insecure": False, "caData": objects.coded(access.ca_pem)},
    }
    values = {
        "name": target.cluster,
        "server": target.server,
        "project": target.project,
        "config": json.dumps(config, separators=(",", ":")),
    }
    return objects.secret(
        f"cluster-{target.cluster}",
        {name: value.encode() for name, value in values.items()},
        namespace=target.argocd,
        labels={"argocd.argoproj.io/secret-type": "cluster", **(labels or {})},
    )


def project(target: Target, repos: Iterable[str], *, description: str) -> Wanted:
    """Holds a tenant's Applications to one cluster and to the chart repositories that the site names."""
    body = {
        "spec": {
            "description": description,
            "permitOnlyProjectScopedClusters": True,
            "sourceRepos": sorted(set(repos)),
            "destinations": [{"name": target.cluster, "server": target.server, "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        }
    }
    return Wanted(PROJECT, objects.manifest(PROJECT, target.project, body, namespace=target.argocd))


def application(release: Release, target: Target, *, labels: Mapping[str, str] | None = None) -> Wanted:
    """Installs a release and keeps it as it should be; deleting it takes what it installed along."""
    body = {
        "spec": {
            "project": target.project,
            "destination": {"name": target.cluster, "namespace": release.namespace},
            "source": _source(release),
            "syncPolicy": dict(SYNC),
        }
    }
    name = f"{target.cluster}-{release.name}"
    made = objects.manifest(APPLICATION, name, body, namespace=target.argocd, labels=labels or {})
    meta = {**made["metadata"], "finalizers": [FINALIZER]}
    return Wanted(APPLICATION, {**made, "metadata": meta}, ready=synced)


def synced(found: Manifest) -> Readiness:
    """Whether Argo CD installed what we asked for; not whether that works."""
    status = found.get("status") or {}
    name = found["metadata"]["name"]
    for condition in status.get("conditions") or ():
        if str(condition.get("type", "")).endswith("Error"):
            return Readiness(False, str(condition["type"]), f"{name}: {condition.get('message', '')}"[:300])
    operation = status.get("operationState") or {}
    if operation.get("phase") in {"Failed", "Error"}:
        return Readiness(False, "SyncFailed", f"{name}: {operation.get('message', '')}"[:300])
    if (status.get("sync") or {}).get("status") != "Synced" or _is_outdated(found, status):
        return Readiness(False, "NotSynced", f"Argo CD has not installed {name} yet.")
    health = (status.get("health") or {}).get("status")
    if health == "Healthy":
        return READY
    return Readiness(False, f"Argo{health or 'Unknown'}", f"{name} is {health or 'Unknown'} for Argo CD.")


def _is_outdated(found: Manifest, status: Mapping[str, Any]) -> bool:
    """Whether the comparison that the status speaks of was made with another source."""
    compared = ((status.get("sync") or {}).get("comparedTo") or {}).get("source")
    wanted = found["spec"].get("source") or {}
    return compared is not None and compared.get("targetRevision") != wanted.get("targetRevision")


def _source(release: Release) -> dict[str, Any]:
    helm = {"releaseName": release.name, "valuesObject": dict(release.values)}
    if release.is_oci:
        return {"repoURL": release.oci_url, "path": ".", "targetRevision": release.version, "helm": helm}
    return {
        "repoURL": release.repo,
        "chart": release.chart,
        "targetRevision": release.version,
        "helm": helm,
    }
