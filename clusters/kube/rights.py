"""The portal's rights in a tenant's cluster, read from the very file that operators read: deploy/rbac."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Final

import yaml

from clusters.clients.kube.models import Kind, Ref
from clusters.kube import kinds, marks
from clusters.kube.objects import Wanted
from clusters.provisioning.steps import ClusterSpec

FILE: Final = Path(__file__).resolve().parents[2] / "deploy" / "rbac" / "tenant.yaml"
KINDS: Final[dict[str, Kind]] = {
    one.kind: one
    for one in (kinds.NAMESPACE, kinds.SERVICE_ACCOUNT, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)
}
GROUP: Final = "rbac.authorization.k8s.io"
CONSOLE: Final = "freehold-console"  # a role that is only bound where Slurm's pods are
ACCOUNT: Final = Ref(kinds.SERVICE_ACCOUNT, "portal", "freehold")


@functools.cache
def _documents() -> tuple[dict[str, Any], ...]:
    return tuple(yaml.safe_load_all(FILE.read_text(encoding="utf-8")))


def wanted(spec: ClusterSpec, step: str) -> tuple[Wanted, ...]:
    """Namespace, account, role and binding, marked as this cluster's, in the order of making."""
    return tuple(Wanted(KINDS[one["kind"]], marks.marked(one, spec, step), kept=True) for one in _documents())
