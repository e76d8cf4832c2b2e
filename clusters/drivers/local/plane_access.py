"""What the portal may do in a tenant's API server, and how it shows who it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Kind, Manifest, ref_of
from clusters.drivers.local import pki, plane_files, plane_plan
from clusters.drivers.local.planes import Plane
from clusters.kube import drift, tenant
from clusters.kube.objects import Wanted
from clusters.provisioning.steps import ClusterSpec, Difference, StepContext
from portal.lib.errors import TemporaryError

PORTAL = "freehold:portal"
NAMESPACE = "freehold"
RBAC = "rbac.authorization.k8s.io"
MASTERS = "system:masters"  # for the minutes of one pass, held in memory, only to grant what stands here
MASTER_LASTS = dt.timedelta(minutes=10)
TIMEOUT = 10.0

NAMESPACES = Kind("v1", "Namespace", "namespaces", namespaced=False)
CLUSTER_ROLES = Kind(f"{RBAC}/v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_BINDINGS = Kind(f"{RBAC}/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
ROLES = Kind(f"{RBAC}/v1", "Role", "roles")
BINDINGS = Kind(f"{RBAC}/v1", "RoleBinding", "rolebindings")
WRITE = ["get", "list", "create", "patch", "delete"]


def wanted(spec: ClusterSpec) -> tuple[tuple[Kind, Manifest], ...]:
    """The objects that make up the portal's rights, in the order in which they are made."""
    user = {"kind": "User", "apiGroup": RBAC, "name": PORTAL}
    everywhere = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": WRITE},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]},
        # the stack "kubernetes": its quota, and whether the cluster's own services run
        {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": WRITE},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["list"]},
        {"apiGroups": [RBAC], "resources": ["rolebindings", "clusterrolebindings"], "verbs": WRITE},
        {
            "apiGroups": [RBAC],
            "resources": ["clusterroles"],
            "verbs": ["bind"],
            "resourceNames": ["view", "edit", "cluster-admin"],
        },
        {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["get"], "resourceNames": [PORTAL]},
    ]
    inside = [
        {"apiGroups": [""], "resources": ["serviceaccounts", "secrets"], "verbs": WRITE},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
        {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["get"]},
    ]
    return (
        _object(spec, CLUSTER_ROLES, PORTAL, rules=everywhere),
        _object(spec, CLUSTER_BINDINGS, PORTAL, roleRef=_role_ref("ClusterRole"), subjects=[user]),
        _object(spec, NAMESPACES, NAMESPACE),
        _object(spec, ROLES, PORTAL, namespace=NAMESPACE, rules=inside),
        _object(spec, BINDINGS, PORTAL, namespace=NAMESPACE, roleRef=_role_ref("Role"), subjects=[user]),
    )


def marks(spec: ClusterSpec) -> dict[str, str]:
    """The labels of everything that we make."""
    return {"freehold.io/installation": spec.installation, "freehold.io/cluster": spec.id}


def differences(client: KubeClient, spec: ClusterSpec) -> tuple[Difference, ...]:
    """How the rights are not as wanted. Raises the client's errors; Forbidden means that they are not."""
    found: list[Difference] = []
    for kind, manifest in wanted(spec):
        ref = ref_of(manifest, kind)
        there = client.get(ref)
        if there is None:
            found.append(Difference(str(ref), "", "there", "not there"))
        elif not contains(there, manifest, but=("apiVersion", "kind")):
            found += _fields(Wanted(kind, manifest), there)
    return tuple(found)


def _fields(wish: Wanted, there: Manifest) -> tuple[Difference, ...]:
    return drift.differences(wish, there) or (Difference(str(wish.ref), "", "as granted", "otherwise"),)


def grant(plane: Plane, ctx: StepContext) -> None:
    """Make the rights as wanted, as a master of minutes that is never written down."""
    made = pki.leaf(plane_files.authority(plane), "freehold:bootstrap", groups=(MASTERS,), lasts=MASTER_LASTS)
    client = KubeClient(_access(plane, ctx, made), timeout=TIMEOUT)
    try:
        for kind, manifest in wanted(ctx.spec):
            client.apply(manifest, kind)
    finally:
        client.close()


def known(plane: Plane, ctx: StepContext) -> Access | None:
    """The portal's access, if it fits this very server and lasts."""
    try:
        access = tenant.access_of(ctx.secrets)
        fits = (
            access.server == plane_plan.endpoint(ctx.ports)
            and access.ca_pem == (plane.pki / "ca.crt").read_bytes()
            and pki.is_fresh(access.certificate_pem)
            and pki.is_for(access.certificate_pem, access.key_pem)
        )
    except (TemporaryError, FileNotFoundError, ValueError, KeyError):
        return None
    return access if fits else None


def give(plane: Plane, ctx: StepContext) -> None:
    """Hand the portal a new certificate with its key; neither stays here."""
    made = pki.leaf(plane_files.authority(plane), PORTAL)
    ctx.keep(tenant.KEPT_AS, tenant.pack(_access(plane, ctx, made)), pki.ends(made.certificate))


def portal_client(ctx: StepContext, timeout: float = TIMEOUT) -> KubeClient:
    """Speaks to the API server as the portal. Raises TemporaryError before `give`."""
    return KubeClient(tenant.access_of(ctx.secrets), timeout=timeout)


def contains(found: Any, wants: Any, *, but: tuple[str, ...] = ()) -> bool:
    """Whether what is there has all that is wanted; what servers and others add does not count."""
    if isinstance(wants, Mapping):
        return isinstance(found, Mapping) and all(
            contains(found.get(name), value) for name, value in wants.items() if name not in but
        )
    return bool(found == wants)


def _access(plane: Plane, ctx: StepContext, pair: pki.Pair) -> Access:
    return Access(
        plane_plan.endpoint(ctx.ports),
        (plane.pki / "ca.crt").read_bytes(),
        certificate_pem=pair.certificate,
        key_pem=pair.key,
    )


def _role_ref(kind: str) -> dict[str, str]:
    return {"apiGroup": RBAC, "kind": kind, "name": PORTAL}


def _object(
    spec: ClusterSpec, kind: Kind, name: str, *, namespace: str = "", **content: object
) -> tuple[Kind, Manifest]:
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": marks(spec)}
    return kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **content}
