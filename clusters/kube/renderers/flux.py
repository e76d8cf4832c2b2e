"""Flux: one source and one HelmRelease per release; Flux runs a real Helm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.clients.kube.models import Kind
from clusters.kube import objects
from clusters.kube.objects import Wanted
from clusters.kube.renderers.release import Release

RELEASE: Final = Kind("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases")
OCI: Final = Kind("source.toolkit.fluxcd.io/v1", "OCIRepository", "ocirepositories")
CLASSIC: Final = Kind("source.toolkit.fluxcd.io/v1", "HelmRepository", "helmrepositories")
LAYER: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class Target:
    """The namespace of Flux's objects, and the Secret with a kubeconfig of the cluster to install into.

    Without a Secret, Flux installs into its own cluster.
    """

    namespace: str
    prefix: str  # before the names of its objects, e.g. the cluster's name
    kubeconfig: str = ""
    key: str = "config"


def release(
    wanted: Release,
    target: Target,
    *,
    depends_on: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
) -> tuple[Wanted, Wanted]:
    """The source, then the HelmRelease; `depends_on` names releases of the same target."""
    name = f"{target.prefix}-{wanted.name}"
    source = _oci(wanted, name, target) if wanted.is_oci else _classic(wanted, name, target)
    spec: dict[str, Any] = {
        "interval": "10m",
        "releaseName": wanted.name,
        "targetNamespace": wanted.namespace,
        "storageNamespace": wanted.namespace,
        "install": {"createNamespace": True, "remediation": {"retries": 3}},
        "upgrade": {"remediation": {"retries": 3}},
        "driftDetection": {"mode": "enabled"},
        "values": dict(wanted.values),
    }
    if wanted.is_oci:
        spec["chartRef"] = {"kind": OCI.kind, "name": name}
    else:
        spec["chart"] = {
            "spec": {
                "chart": wanted.chart,
                "version": wanted.version,
                "sourceRef": {"kind": CLASSIC.kind, "name": name},
            }
        }
    if target.kubeconfig:
        spec["kubeConfig"] = {"secretRef": {"name": target.kubeconfig, "key": target.key}}
    if depends_on:
        spec["dependsOn"] = [{"name": f"{target.prefix}-{other}"} for other in depends_on]
    made = objects.manifest(RELEASE, name, {"spec": spec}, namespace=target.namespace, labels=labels or {})
    return source, Wanted(RELEASE, made, ready=objects.condition_ready())


def _oci(wanted: Release, name: str, target: Target) -> Wanted:
    spec = {
        "interval": "1h",
        "url": wanted.oci_url,
        "ref": {"tag": wanted.version},
        "layerSelector": {"mediaType": LAYER, "operation": "copy"},
    }
    made = objects.manifest(OCI, name, {"spec": spec}, namespace=target.namespace)
    return Wanted(OCI, made, ready=objects.condition_ready())


def _classic(wanted: Release, name: str, target: Target) -> Wanted:
    spec = {"interval": "1h", "url": wanted.repo}
    made = objects.manifest(CLASSIC, name, {"spec": spec}, namespace=target.namespace)
    return Wanted(CLASSIC, made, ready=objects.condition_ready())
