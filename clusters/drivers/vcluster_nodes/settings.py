"""What a site says about machines that the vCluster Platform picks: the section "vcluster_nodes"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.provisioning.steps import ClusterSpec, PoolSpec
from portal.lib.errors import PermanentError

SECTION = "vcluster_nodes"
TYPE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
KNOWN = frozenset({"node_types", "mode", "namespace_prefix", "profile"})


@dataclass(frozen=True, slots=True)
class NodesSettings:
    """Validated. `node_types` says which NodeType serves a flavor, as "provider.type"."""

    node_types: Mapping[str, str]
    by_claims: bool = False  # we make the NodeClaims; else the tenant cluster's auto nodes do
    namespace_prefix: str = "p-"  # of projects' namespaces; the Platform's own setting
    profile: str = ""  # a NodeProfile for claims of ours

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> NodesSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = settings.get(SECTION)
        if not isinstance(section, Mapping):
            raise _bad(SECTION, "is missing")
        if unknown := sorted(set(map(str, section)) - KNOWN):
            raise _bad(unknown[0], "is not known")
        mode = section.get("mode", "auto")
        if mode not in {"auto", "claims"}:
            raise _bad("mode", "is neither auto nor claims")
        prefix, profile = section.get("namespace_prefix", "p-"), section.get("profile", "")
        if not isinstance(prefix, str) or NAME.fullmatch(f"{prefix}c") is None:
            raise _bad("namespace_prefix", "cannot begin the name of a namespace")
        if not isinstance(profile, str) or (profile and NAME.fullmatch(profile) is None):
            raise _bad("profile", "is no name of a node profile")
        return cls(_types(section.get("node_types")), mode == "claims", prefix, profile)

    def namespace(self, spec: ClusterSpec) -> str:
        """Of the cluster's project, which has the cluster's name."""
        return f"{self.namespace_prefix}{spec.name}"

    def type_of(self, pool: PoolSpec) -> str:
        """The NodeType that serves a pool. Raises PermanentError NodeTypeMissing."""
        found = self.node_types.get(pool.flavor.name)
        if found is None:
            raise PermanentError(
                "NodeTypeMissing",
                f"The site has no node type for {pool.flavor.name}.",
                hint=f"Add it to the site's setting {SECTION}.node_types.",
            )
        return found

    def wanted(self, spec: ClusterSpec) -> dict[str, int]:
        """How many nodes of each type. Raises PermanentError NodeTypeMissing."""
        found: dict[str, int] = {}
        for pool in spec.pools:
            name = self.type_of(pool)
            found[name] = found.get(name, 0) + count_of(pool)
        return found


def _types(types: object) -> dict[str, str]:
    if not isinstance(types, Mapping) or not types:
        raise _bad("node_types", "maps no flavors to node types")
    for flavor, name in types.items():
        if not isinstance(name, str) or TYPE.fullmatch(name) is None:
            raise _bad(f"node_types.{flavor}", "is no node type, as in dc1-metal.hgx-h100")
    return dict(types)


def count_of(pool: PoolSpec) -> int:
    """Nodes of a pool: where the outside picks machines, nobody can name them before."""
    return pool.count or len(pool.machines)


def _bad(key: str, why: str) -> PermanentError:
    place = key if key == SECTION else f"{SECTION}.{key}"
    return PermanentError(
        "BadSiteSettings",
        f"The site's setting {place} {why}.",
        hint="Correct the settings of the site; nothing was changed outside.",
    )
