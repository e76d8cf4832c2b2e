"""A site whose machines the vCluster Platform picks: auto nodes as the Platform makes and takes them."""

from __future__ import annotations

import secrets
from typing import Any

import yaml

from clusters.clients.kube.models import Manifest, Ref
from clusters.drivers.vcluster_nodes.claims import NODE_CLAIM, NODE_TYPE
from clusters.drivers.vcluster_platform.kinds import INSTANCE
from clusters.kube.objects import manifest
from clusters.kube.sinks import deleting
from clusters.models import Cluster
from tests.kube import roles, sites, vendor_platform
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.profiles import Profile, TenantsPart
from tests.kube.server import KubeServer
from tests.kube.slinky_vendors import claims, gitops
from tests.kube.vendor_kinds import condition, instances, projects
from tests.kube.vendors import Controller, Hands, Namespaces

FLAVOR = "a100-4"
JOINED = [condition(kind) for kind in ("Scheduled", "Provisioned", "Joined")]


class AutoNodes:
    """Karpenter and a node provider: as many claims as each instance's parameters say, and the stock."""

    def __init__(self, kind: str, total: int) -> None:
        self.kind, self.total = kind, total
        self.held: dict[str, list[Ref]] = {}

    def look(self, hands: Hands) -> None:
        """One round."""
        there = {
            str(one["metadata"]["namespace"]): one for one in hands.client.list(INSTANCE) if not deleting(one)
        }
        for namespace, one in there.items():
            self._follow(hands, namespace, one)
        for namespace in set(self.held) - set(there):
            for ref in self.held.pop(namespace):
                hands.release(ref)
        self.tell(hands)

    def tell(self, hands: Hands) -> None:
        """The stock."""
        ref = Ref(NODE_TYPE, self.kind)
        hands.create(NODE_TYPE, manifest(NODE_TYPE, self.kind, {"spec": {"providerRef": "dc1-metal"}}))
        claimed = sum(len(refs) for refs in self.held.values())
        status = {"phase": "Available", "capacity": {"total": self.total, "claimed": claimed}}
        found = hands.client.get(ref)
        if found is None or (found.get("status") or {}).get("capacity") != status["capacity"]:
            hands.patch(ref, {"status": status}, "status")

    def _follow(self, hands: Hands, namespace: str, one: Manifest) -> None:
        refs = self.held.setdefault(namespace, [])
        wanted = int(yaml.safe_load(one["spec"]["parameters"])["gpuNodes"])
        while len(refs) < wanted:
            ref = Ref(NODE_CLAIM, f"gpu-{secrets.token_hex(3)}", namespace)
            spec = {"providerRef": "dc1-metal", "typeRef": self.kind, "vClusterRef": one["metadata"]["name"]}
            hands.create(NODE_CLAIM, manifest(NODE_CLAIM, ref.name, {"spec": spec}, namespace=namespace))
            status = {"phase": "Available", "conditions": JOINED}
            if hands.patch(ref, {"status": status}, "status"):
                refs.append(ref)


def at_platform(kube_server: KubeServer, platform: PlatformProxy, nodes: AutoNodes) -> Profile:
    """vCluster Platform with auto nodes and its VPN, Slurm by Argo CD."""
    vendor_platform.install(kube_server)
    platform.platform.kubeconfig = lambda *_: vendor_platform.kubeconfig(
        kube_server.admin, server="https://localhost:8443"
    )
    nodes.tell(Hands(kube_server.client))
    control = roles.access(kube_server, "control-plane").token.encode()
    settings: dict[str, Any] = {
        "platform": sites.server_of(kube_server, platform.url),
        "control_plane": sites.server_of(kube_server),
        "gitops": sites.server_of(kube_server),
        "delivery": {"controller": "argo"},
        "vcluster_platform": {
            "template": vendor_platform.NAME,
            "version": "1.0.x",
            "public_address": kube_server.url,
            "parameters": {"gpuNodes": "{nodes}", "apiHost": "{host}", "vpn": "{vpn}"},
        },
        "vcluster_nodes": {"node_types": {FLAVOR: nodes.kind}},
        "slinky": sites.SLINKY,
    }

    def vendors() -> list[Controller]:
        return [projects(), instances(), nodes, *gitops(), claims(), Namespaces(), TenantsPart(INSTANCE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(INSTANCE, cluster.external_name, f"p-{cluster.external_name}")
        return ref, {"spec": {"templateRef": {"version": "1.1.x"}}}, "spec.templateRef.version"

    return Profile(
        "Picking",
        {
            "machines": "vcluster_nodes",
            "nodes": "vcluster_nodes",
            "control_plane": "vcluster_platform",
            "gitops": "gitops",
            "home": "slinky",
            "slurm": "slinky",
        },
        settings,
        vendors,
        spoilt,
        secrets={
            "platform-access-key": control,
            "control-plane-token": control,
            "argocd-token": roles.access(kube_server, "argocd").token.encode(),
        },
        factories={"slinky": sites.slinky},
    )
