"""Compares what is wanted, what the fabric controller says, and what the cluster's own servers list.

Names are compared. Where a system calls machines otherwise than the inventory does, that is said, and
nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from clusters.drivers.isolation import finding
from clusters.drivers.isolation.around import Around
from clusters.drivers.isolation.finding import Finding
from clusters.provisioning.steps import EMPTY, ClusterSpec

PORTS: Final = finding.passed("the network holds the ports of this cluster's machines and of no others")
NODES: Final = finding.passed("the nodes are this cluster's machines and no others")
ALONE: Final = finding.passed("none of its machines is seen at another cluster")
NO_FABRIC = "this site has no network controller to ask"
OTHER_NAMES = "nodes are called otherwise than machines here"
NO_NODES = "no server of this cluster lists its nodes"
NO_MACHINES = "the outside picks the machines and names none yet"
PORTS_DIFFER = "the network does not hold the ports of this cluster's machines only"
NODES_DIFFER = "a machine that is not this cluster's is among its nodes"
TWICE = "a machine is seen at this cluster and at another one"


def ports(spec: ClusterSpec, facts: Mapping[str, Mapping[str, str]]) -> Finding:
    """The fabric controller's members are the cluster's machines."""
    told = _listed(facts.get("fabric", EMPTY), "servers", "ports")
    if told is None:
        return finding.unchecked(NO_FABRIC)
    wanted, leaving = machines_of(spec)
    if not wanted:
        return finding.unchecked(NO_MACHINES)
    strange, missing = sorted(told - wanted - leaving), sorted(wanted - told)
    if strange or missing:
        hint = (
            f"Too much there: {', '.join(strange) or 'nothing'}; missing: {', '.join(missing) or 'nothing'}."
        )
        return finding.failed("MachinesDisagree", PORTS_DIFFER, hint)
    return PORTS


def nodes(spec: ClusterSpec, seen: Collection[str] | None, around: Around) -> Finding:
    """No machine of the site's that is not the cluster's is among its nodes."""
    if seen is None:
        return finding.unchecked(NO_NODES)
    wanted, leaving = machines_of(spec)
    if strangers := sorted(set(seen) & around.inventory - wanted - leaving):
        return finding.failed("MachinesDisagree", NODES_DIFFER, f"Seen there: {', '.join(strangers)}.")
    if not wanted:
        return finding.unchecked(NO_MACHINES)
    return NODES if wanted <= set(seen) else finding.unchecked(OTHER_NAMES)


def alone(
    spec: ClusterSpec,
    facts: Mapping[str, Mapping[str, str]],
    seen: Collection[str] | None,
    around: Around,
) -> Finding:
    """No machine of the cluster, and none that its network or its servers list, is at another cluster."""
    wanted, leaving = machines_of(spec)
    if not wanted:
        return finding.unchecked(NO_MACHINES)
    told = _listed(facts.get("fabric", EMPTY), "servers", "ports") or frozenset()
    twice = (wanted | leaving | told | (set(seen or ()) & around.inventory)) & around.elsewhere.keys()
    if twice:
        hint = "; ".join(f"{name} also at {around.elsewhere[name]}" for name in sorted(twice))
        return finding.failed("MachineSeenTwice", TWICE, f"{hint}. Take it out at one of them.")
    return ALONE


def seen_by_slurm(facts: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """What Slurm lists, by the machines' names; where it does not say the machine, the node's name."""
    return _listed(facts.get("slurm", EMPTY), "nodes")


def machines_of(spec: ClusterSpec) -> tuple[frozenset[str], frozenset[str]]:
    """Those that are to be there, and those that may still be."""
    return (
        frozenset(name for pool in spec.pools for name in pool.machines),
        frozenset(name for pool in spec.pools for name in pool.leaving),
    )


def _listed(facts: Mapping[str, str], *keys: str) -> frozenset[str] | None:
    for key in keys:
        if told := facts.get(key):
            # "node=machine" where both have names of their own
            return frozenset(one.rpartition("=")[2] for one in told.split(","))
    return None
