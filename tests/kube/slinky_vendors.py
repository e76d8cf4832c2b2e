"""What SchedMD's charts and operator make of a Slurm cluster, as far as a driver can see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.models import Manifest
from clusters.drivers.slinky import names
from clusters.kube import kinds, objects
from tests.kube.charts import GitOps, Made, Values, application_sets, deployment
from tests.kube.vendor_kinds import argo_cd, flux_all, node_sets, workload
from tests.kube.vendors import Controller, Vendor


def slurm_chart(values: Values) -> Made:
    """The chart's objects and what the operator makes of them."""
    yield deployment("slurm-controller", names.NAMESPACE, kind=kinds.STATEFUL_SET)
    if (values.get("accounting") or {}).get("enabled"):
        yield deployment("slurm-accounting", names.NAMESPACE, kind=kinds.STATEFUL_SET)
    yield deployment(
        names.SERVICE, names.NAMESPACE, replicas=(values.get("restapi") or {}).get("replicas", 1)
    )
    for key, one in (values.get("loginsets") or {}).items():
        yield deployment(f"slurm-login-{key}", names.NAMESPACE, replicas=one["replicas"])
    for key, one in (values.get("nodesets") or {"none": None}).items():
        spec: dict[str, Any] = {"controllerRef": {"name": "slurm"}, "replicas": one["replicas"] if one else 1}
        body = {"spec": spec}
        yield (
            names.NODE_SET,
            objects.manifest(names.NODE_SET, names.node_set(key), body, namespace=names.NAMESPACE),
        )


def operator_chart(values: Values) -> Made:
    """The operator's own programs."""
    del values
    yield deployment("slurm-operator", names.OPERATOR)
    yield deployment("slurm-operator-webhook", names.OPERATOR)


def gitops() -> list[Controller]:
    """Argo CD or Flux with both charts, and Kubernetes below."""
    charts = {"slurm": slurm_chart, "slurm-operator": operator_chart}
    return [
        argo_cd(),
        *flux_all(),
        application_sets(),
        GitOps(charts),
        node_sets(),
        workload(kinds.STATEFUL_SET),
        workload(kinds.DEPLOYMENT),
    ]


def claims(*, phase: str = "Bound") -> Vendor:
    """Volumes that are given at once; Kubernetes' own protection is taken away when nobody uses them."""

    def status(found: Manifest, age: float) -> Mapping[str, Any] | None:
        del found, age
        return {"phase": phase}

    return Vendor(kinds.CLAIM, status, finalizer="kubernetes.io/pvc-protection")
