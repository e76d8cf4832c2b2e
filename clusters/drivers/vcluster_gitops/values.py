"""The values of the vcluster chart for one cluster (values.schema.json of chart 0.36.1).

Nothing that a tenant typed gets here but names of pools, which are checked once more; and nothing here can
act on the provider's cluster: see settings.REFUSED.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from clusters.drivers.vcluster_gitops.settings import GitOpsSettings
from clusters.provisioning.steps import ClusterSpec, PoolSpec
from portal.lib.errors import PermanentError

SECRET: Final = "freehold-kubeconfig"  # noqa: S105  # the one name that deploy/rbac lets the portal read
ACCOUNT: Final = "freehold-first"  # whose token is in that Secret; the portal uses it to make its own
POOL = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def values(spec: ClusterSpec, settings: GitOpsSettings) -> dict[str, Any]:
    """The site's own values, with what the portal decides on top. Raises PermanentError NodeTypeMissing."""
    control_plane: dict[str, Any] = {
        "backingStore": {"etcd": {"embedded": {"enabled": True}}},
        "statefulSet": {"highAvailability": {"replicas": settings.replicas}},
        "proxy": {"extraSANs": [settings.host(spec)]},
        "service": {"spec": {"type": settings.service}},
    }
    if settings.kubernetes:
        control_plane["distro"] = {"k8s": {"version": settings.kubernetes}}
    account = {"name": ACCOUNT, "namespace": "kube-system", "clusterRole": "cluster-admin"}
    exported = {"name": SECRET, "server": settings.address(spec), "serviceAccount": account}
    ours = {
        "controlPlane": control_plane,
        "privateNodes": _private_nodes(spec, settings),
        "networking": {"podCIDR": settings.pod_cidr, "serviceCIDR": settings.service_cidr},
        # beside the chart's own Secret, which other readers rely on (vcluster#2234, #2464)
        "exportKubeConfig": {"additionalSecrets": [exported]},
    }
    return merged(settings.values, ours)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both; where both say something, `over` is right. Lists are taken whole."""
    both = dict(base)
    for name, value in over.items():
        below = both.get(name)
        is_tree = isinstance(below, Mapping) and isinstance(value, Mapping)
        both[name] = merged(below, value) if is_tree else value  # type: ignore[arg-type]  # checked above
    return both


def _private_nodes(spec: ClusterSpec, settings: GitOpsSettings) -> dict[str, Any]:
    made: dict[str, Any] = {"enabled": True}
    if settings.vpn:
        made["vpn"] = {"enabled": True, "nodeToNode": {"enabled": settings.node_to_node}}
    if settings.node_types:
        providers: dict[str, list[dict[str, Any]]] = {}
        for pool in spec.pools:
            kind = _type_of(pool, settings)
            providers.setdefault(kind.partition(".")[0], []).append(_static(pool, kind, settings))
        made["autoNodes"] = [{"provider": name, "static": pools} for name, pools in sorted(providers.items())]
    return made


def _static(pool: PoolSpec, kind: str, settings: GitOpsSettings) -> dict[str, Any]:
    if POOL.fullmatch(pool.name) is None:
        raise PermanentError("BadPoolName", "A pool has no name that a value of a chart may have.")
    return {
        "name": pool.name,
        "quantity": pool.count or len(pool.machines),
        "nodeTypeSelector": [{"property": "vcluster.com/node-type", "operator": "In", "values": [kind]}],
        "nodeLabels": {"freehold.io/pool": pool.name},
        **({"profile": settings.profile} if settings.profile else {}),
    }


def _type_of(pool: PoolSpec, settings: GitOpsSettings) -> str:
    found = settings.node_types.get(pool.flavor.name)
    if found is None:
        raise PermanentError(
            "NodeTypeMissing",
            f"The site has no node type for {pool.flavor.name}.",
            hint="Add it to the site's setting vcluster_nodes.node_types.",
        )
    return found
