"""What the controller holds of one cluster, and in what it differs from the spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.models import Acl, AclWish, Named, Server, ServerCluster, Vpc
from clusters.drivers.netris import addresses, marks
from clusters.drivers.netris.settings import NetrisSettings
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

READY = frozenset({"ok", "active"})  # labels of a server cluster that the switches follow
FAILED = frozenset({"error", "failed", "failure", "critical"})


@dataclass(frozen=True, slots=True)
class View:
    """One look at the controller."""

    mine: tuple[ServerCluster, ...]  # with our marks; one, unless somebody copied it
    others: tuple[ServerCluster, ...]  # all the rest, of every site
    namesakes: tuple[str, ...]  # what has our name and not our marks: "a server cluster", ...
    vpcs: tuple[Vpc, ...]  # with our marks, or our server cluster's own
    rules: tuple[Acl, ...]  # with our marks

    @property
    def is_empty(self) -> bool:
        """Nothing of ours is there."""
        return not (self.mine or self.vpcs or self.rules)

    @property
    def cluster(self) -> ServerCluster | None:
        """Our server cluster."""
        return self.mine[0] if self.mine else None

    @property
    def vpc(self) -> Vpc | None:
        """The VPC that our server cluster is in."""
        inside = self.cluster.vpc if self.cluster else None
        return next((vpc for vpc in self.vpcs if inside and vpc.id == inside.id), None)


def look(client: NetrisClient, spec: ClusterSpec) -> View:
    """Read the listings: one call per kind, and one more for our server cluster while it is not ready."""
    clusters = client.server_clusters()
    mine = tuple(_whole(client, one) for one in clusters if marks.is_ours(one.tags, spec))
    others = tuple(one for one in clusters if not marks.is_ours(one.tags, spec))
    inside = {one.vpc.id for one in mine if one.vpc}
    vpcs = client.vpcs()
    rules = client.acls()
    named = {f"{spec.name}-", spec.name}
    namesakes = [f"a server cluster {one.name}" for one in others if one.name == spec.name]
    namesakes += [
        f"an ACL {rule.name}"
        for rule in rules
        if rule.name.startswith(tuple(named)) and not marks.is_our_rule(rule, spec)
    ]
    return View(
        mine=mine,
        others=others,
        namesakes=tuple(namesakes),
        vpcs=tuple(one for one in vpcs if marks.is_ours(one.tags, spec) or one.id in inside),
        rules=tuple(rule for rule in rules if marks.is_our_rule(rule, spec)),
    )


def _whole(client: NetrisClient, listed: ServerCluster) -> ServerCluster:
    if listed.status in READY and listed.vnets:
        return listed
    return client.server_cluster(listed.id) or listed  # a listing may leave out status and resources


def problem(
    client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings
) -> PermanentError | None:
    """What only a person can mend; nothing is changed as long as it is so."""
    if view.namesakes:
        kind, _, name = view.namesakes[0].rpartition(" ")
        return marks.name_taken(kind, name)
    if len(view.mine) > 1:
        return PermanentError(
            "FabricTwice",
            "The fabric controller has more than one server cluster with this cluster's marks.",
            hint=f"Remove all but the true one by hand: ids {', '.join(str(one.id) for one in view.mine)}.",
        )
    return (
        _elsewhere(view, spec)
        or _shared_vpc(view)
        or _overlap(view, settings)
        or _ignored(client, view, spec, settings)
    )


def _elsewhere(view: View, spec: ClusterSpec) -> PermanentError | None:
    """A machine is a member of one server cluster only, or two tenants could meet on its ports."""
    wanted = {machine for pool in spec.pools for machine in pool.machines}
    found = {
        member.name: other.name for other in view.others for member in other.servers if member.name in wanted
    }
    if not found:
        return None
    where = ", ".join(f"{machine} in {name}" for machine, name in sorted(found.items()))
    return PermanentError(
        "MachineElsewhere",
        f"Machines of this cluster are in another server cluster too: {', '.join(sorted(found))}.",
        hint=f"Take them out there or give the cluster others. Found: {where}.",
    )


def _shared_vpc(view: View) -> PermanentError | None:
    inside = view.cluster.vpc if view.cluster else None
    if inside is None:
        return None
    others = [other.name for other in view.others if other.vpc and other.vpc.id == inside.id]
    vpc = view.vpc
    if not others and not (vpc and vpc.is_default):
        return None
    return PermanentError(
        "VpcShared",
        "The cluster's VPC is not its own: the wall between tenants is missing.",
        hint=f"VPC {inside.name} also holds {', '.join(others) or 'what is in no other VPC'}.",
    )


def _overlap(view: View, settings: NetrisSettings) -> PermanentError | None:
    if view.cluster is None:
        return None
    near = [other for other in view.others if other.site is None or other.site.name == settings.site]
    met = overlapping(view.cluster, near)
    if not met:
        return None
    return PermanentError(
        "PrefixOverlaps",
        "Addresses of this cluster are also used by another server cluster at the site.",
        hint=f"Also used by {', '.join(met)}. Remove one of them; addresses are fixed when it is made.",
    )


def _ignored(
    client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings
) -> PermanentError | None:
    """An older controller takes the gateways that we send and uses the template's all the same."""
    cluster = view.cluster
    if cluster is None or not settings.gateways or not cluster.prefixes or not spec.prefix:
        return None
    own = addresses.prefix_of(spec)
    if any(prefix.subnet_of(own) for prefix in cluster.prefixes):
        return None
    used = [one for one in client.templates() if cluster.template and one.id == cluster.template.id]
    if used and not addresses.gateways_for(used[0], spec, settings):
        return None  # a template without gateways of ours
    return PermanentError(
        "PrefixIgnored",
        "The fabric controller did not use the addresses that were meant for this cluster.",
        hint="If it is older than the gateways of server clusters, set netris.gateways to false and end the"
        " cluster; its template then has to take subnets from an allocation.",
    )


def overlapping(mine: ServerCluster, others: Iterable[ServerCluster]) -> list[str]:
    """Names of server clusters that use addresses of this one."""
    return sorted(
        other.name
        for other in others
        if any(ours.overlaps(theirs) for ours in mine.prefixes for theirs in other.prefixes)
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """What apply has to change."""

    members: bool = False  # servers or tags of the server cluster
    unmarked: bool = False  # the VPC lacks our tags
    stale: tuple[Acl, ...] = ()  # rules of ours that nobody wants
    missing: tuple[AclWish, ...] = ()  # rules that are wanted, in order

    @property
    def is_none(self) -> bool:
        """All is as wanted."""
        return not (self.members or self.unmarked or self.stale or self.missing)


def difference(view: View, spec: ClusterSpec, settings: NetrisSettings) -> Difference:
    """Compare our server cluster, its VPC and its rules with the spec. Raises PermanentError."""
    cluster, vpc = view.cluster, view.vpc
    if cluster is None:
        return Difference(members=True)
    wishes = addresses.acls_for(spec, settings, Named(vpc.id, vpc.name) if vpc else None)
    kept = {rule.id for rule in view.rules for wish in wishes if rule.name == wish.name and rule.says(wish)}
    there = {rule.name for rule in view.rules if rule.id in kept}
    return Difference(
        members=not fits(cluster.servers, spec),
        unmarked=vpc is not None and not marks.is_ours(vpc.tags, spec),
        stale=tuple(rule for rule in view.rules if rule.id not in kept),
        missing=tuple(wish for wish in wishes if wish.name not in there),
    )


def fits(members: tuple[Server, ...], spec: ClusterSpec) -> bool:
    """All machines are members, and nobody else but those that are leaving. None may be shared."""
    names = {member.name for member in members}
    wanted = {machine for pool in spec.pools for machine in pool.machines}
    leaving = {machine for pool in spec.pools for machine in pool.leaving}
    return wanted <= names <= wanted | leaving and not any(member.shared for member in members)
