"""What a site says about the vCluster Platform: the section "vcluster_platform" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.kube.site_settings import NAME, Section, filled
from clusters.provisioning.steps import ClusterSpec, PoolSpec

SECTION: Final = "vcluster_platform"
NODES: Final = "vcluster_nodes"  # another driver's section: which node type serves a flavor
VERSION = re.compile(r"[0-9x]+\.[0-9x]+\.[0-9x]+")
PREFIX = re.compile(r"[a-z0-9]([a-z0-9-]{0,20})?")
VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
PLACE = re.compile(r"\{([a-z]+)(?::([a-z0-9.-]+))?\}")
PLACES = frozenset({"cluster", "tenant", "host", "prefix", "nodes", "vpn"})
LABEL = re.compile(r"([a-z0-9.-]{1,63}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
KNOWN = frozenset(
    {
        "template", "version", "parameters", "owner", "cluster", "namespace_prefix", "public_address",
        "access", "secret", "quotas", "labels", "profile",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlatformSettings:
    """Validated. Parameters that stand here are the site's; all others of the template are the orders'.

    A parameter's text may hold {cluster}, {tenant}, {host}, {prefix}, {nodes}, {nodes:FLAVOR} and {vpn}.
    """

    template: str
    version: str = ""  # "1.2.3" or "1.2.x": needs the licence feature template-versioning
    parameters: Mapping[str, str | bool | int | float] = field(default_factory=dict)
    owner: Mapping[str, str] = field(default_factory=dict)  # {"team": ...} or {"user": ...}
    cluster: str = ""  # the connected cluster that holds the control planes; "": the Platform chooses
    namespace_prefix: str = "p-"  # of projects' namespaces; the Platform's own setting
    public_address: str = ""  # of a tenant's API server, e.g. https://{cluster}.k8s.example.com
    by_secret: bool = False  # the portal comes in by a Secret that vCluster exports, not by the subresource
    secret: str = "freehold-kubeconfig"  # noqa: S105  # the name of that Secret
    quotas: bool = True  # where the licence has them
    labels: Mapping[str, str] = field(default_factory=dict)  # on projects and instances, e.g. for billing
    profile: str = ""  # the NodeProfile of machines that join by hand
    node_types: Mapping[str, str] = field(
        default_factory=dict
    )  # by flavor, where the Platform picks machines
    vpn: bool = False  # no fabric joins the machines to their control plane

    @classmethod
    def from_site(cls, settings: Mapping[str, Any], *, has_fabric: bool = True) -> PlatformSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section(settings, SECTION, KNOWN)
        by_secret = section.choice("access", ("subresource", "secret"), "subresource") == "secret"
        cluster = section.text("cluster", NAME, "is no name of a connected cluster", "")
        if by_secret and not cluster:
            raise section.bad("cluster", "is needed where access is by a secret")
        return cls(
            template=section.text("template", NAME, "is no name of a template"),
            version=section.text("version", VERSION, "is no version, as in 1.2.3 or 1.2.x", ""),
            parameters=_parameters(section),
            owner=_owner(section),
            cluster=cluster,
            namespace_prefix=section.text(
                "namespace_prefix", PREFIX, "cannot begin the name of a namespace", "p-"
            ),
            public_address=section.address("public_address", default=""),
            by_secret=by_secret,
            secret=section.text("secret", NAME, "is no name of a secret", "freehold-kubeconfig"),
            quotas=section.flag("quotas", default=True),
            labels=_labels(section),
            profile=section.text("profile", NAME, "is no name of a node profile", ""),
            node_types=_node_types(settings),
            vpn=not has_fabric,
        )

    def namespace(self, spec: ClusterSpec) -> str:
        """Of the cluster's project, which has the cluster's name."""
        return f"{self.namespace_prefix}{spec.name}"

    def host_namespace(self, spec: ClusterSpec) -> str:
        """Where the control plane runs, if the site says on which cluster."""
        return f"vc-{spec.name}"

    def address(self, spec: ClusterSpec) -> str:
        """Of the tenant's API server; "" where only the Platform knows."""
        return filled(self.public_address, spec)

    def given(self, spec: ClusterSpec) -> dict[str, str | bool | int | float]:
        """The site's own parameters for one cluster."""
        return {
            name: _filled(value, spec, self) if isinstance(value, str) else value
            for name, value in self.parameters.items()
        }


def nodes_of(spec: ClusterSpec, flavor: str = "") -> int:
    """How many nodes a cluster should have, of one flavor or in all."""
    return sum(count_of(pool) for pool in spec.pools if flavor in {"", pool.flavor.name})


def count_of(pool: PoolSpec) -> int:
    """Nodes of a pool: where the outside picks machines, nobody can name them before."""
    return pool.count or len(pool.machines)


def _filled(text: str, spec: ClusterSpec, settings: PlatformSettings) -> str:
    def value(match: re.Match[str]) -> str:
        place, of = match[1], match[2] or ""
        host = settings.address(spec).removeprefix("https://").partition("/")[0].partition(":")[0]
        known = {
            "cluster": spec.name,
            "tenant": spec.tenant,
            "prefix": spec.prefix,
            "host": host,
            "vpn": "true" if settings.vpn else "false",
        }
        return str(nodes_of(spec, of)) if place == "nodes" else known[place]

    return PLACE.sub(value, text)


def _parameters(section: Section) -> Mapping[str, str | bool | int | float]:
    found = section.mapping("parameters")
    for name, value in found.items():
        key = f"parameters.{name}"
        if VARIABLE.fullmatch(name) is None:
            raise section.bad(key, "is no name of a parameter")
        if not isinstance(value, str | bool | int | float):
            raise section.bad(key, "is neither a text, a number nor true or false")
        if isinstance(value, str) and (wrong := {one[0] for one in PLACE.findall(value)} - PLACES):
            raise section.bad(key, f"holds {{{min(wrong)}}}, which nobody fills")
    return dict(found)


def _owner(section: Section) -> Mapping[str, str]:
    found = section.mapping("owner")
    fits = len(found) <= 1 and set(found) <= {"user", "team"}
    if not fits or not all(isinstance(name, str) and NAME.fullmatch(name) for name in found.values()):
        raise section.bad("owner", "is neither one user nor one team")
    return dict(found)


def _labels(section: Section) -> Mapping[str, str]:
    found = section.mapping("labels")
    for name, value in found.items():
        if LABEL.fullmatch(name) is None or name.startswith("freehold.io/") or not isinstance(value, str):
            raise section.bad(f"labels.{name}", "is no label of the site's own")
        if LABEL.fullmatch(value.replace("{tenant}", "t").replace("{cluster}", "c")) is None:
            raise section.bad(f"labels.{name}", "has no value that a label may have")
    return dict(found)


def _node_types(settings: Mapping[str, Any]) -> Mapping[str, str]:
    section = settings.get(NODES)
    types = section.get("node_types") if isinstance(section, Mapping) else None
    if not isinstance(types, Mapping):
        return {}
    return {str(flavor): str(name) for flavor, name in types.items()}
