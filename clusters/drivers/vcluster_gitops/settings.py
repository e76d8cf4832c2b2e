"""What a site says about control planes made by the vcluster chart: the section "vcluster_gitops".

Who installs the chart stands in the section "delivery" (clusters.kube.gitops.settings); the controller runs
in the cluster that also holds the control planes.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.kube.gitops.settings import GitOps
from clusters.kube.site_settings import NAME, Section, filled
from clusters.provisioning.steps import ClusterSpec

SECTION: Final = "vcluster_gitops"
NODES: Final = "vcluster_nodes"  # another driver's section: which node type serves a flavor
REPO = re.compile(r"(https|oci)://[A-Za-z0-9][A-Za-z0-9./:_-]*")
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?")
KUBERNETES = re.compile(r"v1\.[0-9]{2}\.[0-9]{1,2}")
BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
FOLDER = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
GIT_URL = re.compile(r"(https://|ssh://|file:///|/)[^\s\x00-\x1f]+")
SERVICES = ("LoadBalancer", "NodePort", "ClusterIP")
KNOWN = frozenset(
    {
        "chart_repo", "chart_version", "public_address", "kubernetes", "replicas", "pod_cidr", "service_cidr",
        "service", "node_to_node", "values", "git",
    }
)  # fmt: skip
# values by which a chart acts on the provider's own cluster, or lets others in
REFUSED: Final = (
    ("deploy", "argoCD"),
    ("experimental", "deploy", "host"),
    ("exportKubeConfig",),
    ("integrations", "argoCD"),
)


@dataclass(frozen=True, slots=True)
class Git:
    """The repository that the controller follows. Its credential is a secret of the site."""

    url: str
    branch: str = "main"
    folder: str = "clusters"
    user: str = "git"  # beside the site's secret git-token, for https
    known_hosts: str = ""  # lines of ssh's known_hosts, beside the site's secret git-key


@dataclass(frozen=True, slots=True)
class GitOpsSettings:
    """Validated."""

    delivery: GitOps
    public_address: str  # of a tenant's API server, e.g. https://{cluster}.k8s.example.com
    chart_repo: str = "https://charts.loft.sh"
    chart_version: str = "0.36.1"
    kubernetes: str = ""  # e.g. v1.35.6; "": as the chart has it
    replicas: int = 1
    pod_cidr: str = "10.64.0.0/16"
    service_cidr: str = "10.128.0.0/16"
    service: str = "LoadBalancer"
    vpn: bool = False  # no fabric joins the machines to their control plane
    node_to_node: bool = False  # pods between machines by the VPN too; unfit for RDMA
    node_types: Mapping[str, str] = field(default_factory=dict)  # by flavor, where auto nodes pick machines
    profile: str = ""  # the NodeProfile of auto nodes
    values: Mapping[str, Any] = field(default_factory=dict)  # the site's own, below what the portal sets
    git: Git | None = None  # commit to it; else apply to the API server

    @classmethod
    def from_site(cls, settings: Mapping[str, Any], *, has_fabric: bool = True) -> GitOpsSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section(settings, SECTION, KNOWN)
        node_types, profile = _auto_nodes(settings)
        return cls(
            delivery=GitOps.from_site(settings),
            public_address=section.address("public_address"),
            chart_repo=section.text("chart_repo", REPO, "is no chart repository", "https://charts.loft.sh"),
            chart_version=section.text("chart_version", VERSION, "is no version of a chart", "0.36.1"),
            kubernetes=section.text("kubernetes", KUBERNETES, "is no release, as in v1.35.6", ""),
            replicas=_replicas(section),
            pod_cidr=_network(section, "pod_cidr", "10.64.0.0/16"),
            service_cidr=_network(section, "service_cidr", "10.128.0.0/16"),
            service=section.choice("service", SERVICES, "LoadBalancer"),
            vpn=not has_fabric,
            node_to_node=section.flag("node_to_node", default=False),
            node_types=node_types,
            profile=profile,
            values=_values(section),
            git=_git(section),
        )

    def namespace(self, spec: ClusterSpec) -> str:
        """Where the cluster's control plane runs."""
        return f"vc-{spec.name}"

    def address(self, spec: ClusterSpec) -> str:
        """Of the tenant's API server."""
        return filled(self.public_address, spec)

    def host(self, spec: ClusterSpec) -> str:
        """The same without scheme and port, for the certificate."""
        return self.address(spec).removeprefix("https://").partition("/")[0].partition(":")[0]


def _replicas(section: Section) -> int:
    count = section.number("replicas", 1, least=1, most=7)
    if count % 2 == 0:
        raise section.bad("replicas", "is even, which embedded etcd cannot vote with")
    return count


def _network(section: Section, key: str, default: str) -> str:
    value = section.get(key, default)
    try:
        return str(ipaddress.ip_network(value))
    except ValueError as error:
        raise section.bad(key, "is no network, as in 10.64.0.0/16") from error


def _values(section: Section) -> Mapping[str, Any]:
    found = section.mapping("values")
    for path in REFUSED:
        if _at(found, path) is not None:
            raise section.bad(f"values.{'.'.join(path)}", "would act on the provider's own cluster")
    return found


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _auto_nodes(settings: Mapping[str, Any]) -> tuple[Mapping[str, str], str]:
    nodes = settings.get(NODES)
    if not isinstance(nodes, Mapping) or nodes.get("mode", "auto") != "auto":
        return {}, ""
    types = nodes.get("node_types")
    known = {str(flavor): str(name) for flavor, name in types.items()} if isinstance(types, Mapping) else {}
    return known, str(nodes.get("profile", ""))


def _git(section: Section) -> Git | None:
    if section.get("git") is None:
        return None
    inner = Section({f"{SECTION}.git": section.mapping("git")}, f"{SECTION}.git", Git.__slots__)
    return Git(
        url=inner.text("url", GIT_URL, "is given neither as https, ssh nor as a path"),
        branch=inner.text("branch", BRANCH, "is no plain name of a branch", "main"),
        folder=inner.text("folder", FOLDER, "is no plain folder", "clusters"),
        user=inner.text("user", NAME, "is no plain name", "git"),
        known_hosts=inner.text("known_hosts", re.compile(r"[\x20-\x7e\n]+"), "is no list of hosts", ""),
    )
