"""The kinds of site that whole orders are walked through: with credentials of deploy/rbac, and vendors."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from clusters.clients.kube.models import Ref
from clusters.drivers.metal3.hosts import HOST
from clusters.drivers.slinky import SlinkySettings
from clusters.drivers.slinky import steps as slinky_steps
from clusters.drivers.vcluster_platform.kinds import INSTANCE
from clusters.kube import kinds, servers
from clusters.kube.gitops.installer import Installer
from clusters.kube.gitops.settings import GitOps
from clusters.kube.renderers import argo, flux
from clusters.models import Cluster, Stack
from clusters.provisioning.registry import Wanted
from clusters.provisioning.steps import Step
from tests.clusters.metal3.ironic import Metal3
from tests.clusters.metal3.subject import IMAGE
from tests.clusters.netris.server import USER, FakeNetris
from tests.kube import roles, vendor_platform
from tests.kube.fake_slurm import FakeSlurm
from tests.kube.gitops import Follower
from tests.kube.platform_proxy import PlatformProxy
from tests.kube.profiles import Profile, TenantsPart, exporting
from tests.kube.server import KubeServer
from tests.kube.slinky_vendors import claims, gitops
from tests.kube.vendor_kinds import CONDITIONS, argo_cd, flux_all, instances, projects
from tests.kube.vendors import Controller, Hands, Namespaces

MACHINES = tuple(f"gpu-{number}" for number in range(1, 5))
SLINKY = {"login": {"replicas": 1}, "charts": {"cert_manager": ""}, "home": {"storage_class": "shared"}}
SLURM = FakeSlurm()


def slinky(wanted: Wanted) -> tuple[Step, ...]:
    """As the registry makes it, but for the slurmrestd, which is played."""
    settings = wanted.site.settings
    return slinky_steps(
        SlinkySettings.from_site(settings),
        wanted.concerns,
        tenants=servers.of_tenant,
        gitops=servers.gitops_of(settings),
        installer=Installer(GitOps.from_site(settings)),
        reach=SLURM,
    )


def server_of(server: KubeServer, url: str = "") -> dict[str, str]:
    """How a site's settings name an API server."""
    return {"server": url or server.url, "ca": server.authority.certificate.decode()}


def at_platform(
    kube_server: KubeServer, platform: PlatformProxy, netris: FakeNetris, *, pace: float = 0.05
) -> Profile:
    """vCluster Platform, Metal3, Netris, Argo CD."""
    vendor_platform.install(kube_server)
    platform.platform.kubeconfig = lambda *_: vendor_platform.kubeconfig(
        kube_server.admin, server="https://localhost:8443"
    )
    metal3 = Metal3(f"metal3-{secrets.token_hex(3)}")
    kube_server.ensure_namespace(metal3.namespace)
    for name in MACHINES:
        metal3.add_host(Hands(kube_server.client), name)
    control = roles.access(kube_server, "control-plane").token.encode()
    settings: dict[str, Any] = {
        "platform": server_of(kube_server, platform.url),
        "control_plane": server_of(kube_server),
        "gitops": server_of(kube_server),
        "delivery": {"controller": "argo"},
        "vcluster_platform": {
            "template": vendor_platform.NAME,
            "version": "1.0.x",
            "public_address": kube_server.url,
            "parameters": {"gpuNodes": "{nodes}", "apiHost": "{host}", "vpn": "{vpn}"},
        },
        "metal3": {"namespace": metal3.namespace, "image": IMAGE},
        "netris": {
            "url": netris.url,
            "user": USER,
            "ca_file": netris.authorities,
            "site": "DC1",
            "tenant": "portal",
            "template": "gpu",
        },
        "fabric": {"pool": "10.96.16.0/20", "length": 22},
        "slinky": SLINKY,
    }

    def settled() -> bool:
        hosts = kube_server.client.list(HOST, namespace=metal3.namespace)
        return all(
            ((one.get("status") or {}).get("provisioning") or {}).get("state") == "available" for one in hosts
        )

    def vendors() -> list[Controller]:
        late = instances(pace=pace, order=tuple(reversed(CONDITIONS)))
        return [projects(), late, metal3, *gitops(), claims(), Namespaces(), TenantsPart(INSTANCE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(INSTANCE, cluster.external_name, f"p-{cluster.external_name}")
        return ref, {"spec": {"templateRef": {"version": "1.1.x"}}}, "spec.templateRef.version"

    return Profile(
        "Platform",
        {
            "machines": "metal3",
            "fabric": "netris",
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
            "netris-password": netris.password.encode(),
        },
        factories={"slinky": slinky},
        settled=settled,
    )


def by_flux(kube_server: KubeServer) -> Profile:
    """The vcluster chart through Flux; machines of the books only, so their way home is the VPN."""
    settings: dict[str, Any] = {
        "gitops": server_of(kube_server),
        "delivery": {"controller": "flux"},
        "vcluster_gitops": {"public_address": kube_server.url, "kubernetes": "v1.35.6"},
        "joined": {"by_hand": True},
        "slinky": {**SLINKY, "home": None},
    }

    def vendors() -> list[Controller]:
        return [exporting(kube_server), *gitops(), claims(), Namespaces(), TenantsPart(flux.RELEASE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(flux.RELEASE, f"vc-{cluster.external_name}", "argocd")
        values = {"controlPlane": {"service": {"spec": {"type": "NodePort"}}}}
        return ref, {"spec": {"values": values}}, "spec.values.controlPlane.service.spec.type"

    return Profile(
        "Flux",
        {"control_plane": "vcluster_gitops", "nodes": "joined", "gitops": "gitops", "slurm": "slinky"},
        settings,
        vendors,
        spoilt,
        secrets={"argocd-token": roles.access(kube_server, "argocd").token.encode()},
        factories={"slinky": slinky},
    )


def plain_by_flux(kube_server: KubeServer) -> Profile:
    """The same without Slurm and without delays: the fewest calls that make a whole cluster."""
    settings: dict[str, Any] = {
        "gitops": server_of(kube_server),
        "delivery": {"controller": "flux"},
        "vcluster_gitops": {"public_address": kube_server.url},
    }

    def vendors() -> list[Controller]:
        return [exporting(kube_server), *flux_all(), Namespaces(), TenantsPart(flux.RELEASE)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(flux.RELEASE, f"vc-{cluster.external_name}", "argocd")
        return ref, {"spec": {"interval": "1m"}}, "spec.interval"

    return Profile(
        "Plain",
        {"control_plane": "vcluster_gitops", "kubernetes": "kubernetes_stack"},
        settings,
        vendors,
        spoilt,
        secrets={"argocd-token": roles.access(kube_server, "argocd").token.encode()},
        stack=Stack.KUBERNETES,
    )


def plain_by_git(kube_server: KubeServer, bare: Path) -> Profile:
    """Control planes by commits that Argo CD follows."""
    settings: dict[str, Any] = {
        "gitops": server_of(kube_server),
        "delivery": {"controller": "argo"},
        "vcluster_gitops": {"public_address": kube_server.url, "git": {"url": str(bare)}},
    }

    def vendors() -> list[Controller]:
        follower = Follower(bare, [kinds.NAMESPACE, argo.PROJECT, argo.APPLICATION])
        exports = exporting(kube_server, argo.APPLICATION)
        return [follower, exports, argo_cd(), Namespaces(), TenantsPart(argo.APPLICATION)]

    def spoilt(cluster: Cluster) -> tuple[Ref, dict[str, Any], str]:
        ref = Ref(argo.APPLICATION, f"in-cluster-{cluster.external_name}", "argocd")
        return ref, {"spec": {"project": "theirs"}}, "spec.project"

    return Profile(
        "Git",
        {"control_plane": "vcluster_gitops", "kubernetes": "kubernetes_stack"},
        settings,
        vendors,
        spoilt,
        secrets={"argocd-token": roles.access(kube_server, "argocd").token.encode()},
        stack=Stack.KUBERNETES,
    )
