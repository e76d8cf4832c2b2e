"""Who picks machines at a site: we, from the inventory, or the outside, which then tells which it took."""

from __future__ import annotations

from clusters.models import Site

THEY_PICK = frozenset({"vcluster_nodes"})  # drivers whose outside system picks the machines


def they_pick(site: Site) -> bool:
    """Whether the outside picks machines at the site, so that an allocation follows what was seen."""
    return not THEY_PICK.isdisjoint(map(str, site.drivers.values()))
