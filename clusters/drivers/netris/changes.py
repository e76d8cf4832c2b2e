"""What the fabric step asks of the controller. Nothing here waits for an answer to take effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.models import (
    Gateway,
    Named,
    Server,
    ServerCluster,
    ServerClusterWish,
    Template,
    Vpc,
)
from clusters.drivers.netris import addresses, marks
from clusters.drivers.netris.look import View, difference
from clusters.drivers.netris.settings import NetrisSettings
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

Thing = TypeVar("Thing", Named, Template)


def create(client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings) -> None:
    """Ask for the server cluster. Raises PermanentError for whatever the controller does not have."""
    template = template_of(client, settings)
    gateways = addresses.gateways_for(template, spec, settings)
    if gateways:
        _check_free(client, view, spec)
    client.add_server_cluster(wish_for(client, spec, settings, template, gateways))


def template_of(client: NetrisClient, settings: NetrisSettings) -> Template:
    """The site's template. Raises PermanentError FabricUnknown."""
    return _one(client.templates(), settings.template, "template", "netris.template")


def wish_for(
    client: NetrisClient,
    spec: ClusterSpec,
    settings: NetrisSettings,
    template: Template,
    gateways: tuple[Gateway, ...],
) -> ServerClusterWish:
    """The server cluster, with the controller's ids. Raises PermanentError FabricUnknown, ServerUnknown."""
    return ServerClusterWish(
        name=spec.name,
        tenant=_one(client.tenants(), settings.tenant, "tenant", "netris.tenant"),
        site=_one(client.sites(), settings.site, "site", "netris.site"),
        template=Named(template.id, template.name),
        tags=tuple(sorted(marks.tags_of(spec))),
        servers=_servers(client, _machines(spec), settings),
        gateways=gateways,
    )


def mend(client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings) -> None:
    """Bring what is there to the spec."""
    cluster, vpc = view.cluster, view.vpc
    if cluster is None:
        return
    wrong = difference(view, spec, settings)
    if wrong.members:
        leaving = {machine for pool in spec.pools for machine in pool.leaving}
        stay = [member.name for member in cluster.servers if member.name in leaving]
        tags = tuple(sorted(cluster.tags | marks.tags_of(spec)))
        client.set_servers(cluster.id, tags, _servers(client, [*_machines(spec), *stay], settings))
    if wrong.unmarked and vpc is not None:
        _mark(client, vpc, spec)
    if wrong.stale:
        _drop_rules(client, view, [rule.id for rule in wrong.stale])
        return  # the next pass adds what is missing, permits first
    _add_rules(client, view, spec, settings)


def _add_rules(client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings) -> None:
    """Permits, then denies; a deny only when all permits are listed: an answer alone proves nothing."""
    missing = difference(view, spec, settings).missing
    permits = [wish for wish in missing if wish.action == "permit"]
    for wish in permits or missing:
        client.add_acl(wish)


def _drop_rules(client: NetrisClient, view: View, stale: list[int]) -> None:
    """Denies go with whatever permit goes, and before it: they might have relied on it."""
    denies = [rule.id for rule in view.rules if rule.action == "deny"]
    permits = [rule.id for rule in view.rules if rule.id in stale and rule.id not in denies]
    for numbers in (denies if permits else [one for one in stale if one in denies], permits):
        if numbers:
            client.remove_acls(tuple(numbers))


def remove(client: NetrisClient, view: View, spec: ClusterSpec) -> None:
    """The server cluster first; ACLs and the VPC with what is left in it once no server cluster is listed."""
    for cluster in view.mine:
        _mark_own(client, view, cluster, spec)
        client.remove_server_cluster(cluster.id)
    if view.mine:
        return
    if view.rules:
        _drop_rules(client, view, [rule.id for rule in view.rules])
    for vpc in view.vpcs:
        _remove_vpc(client, view, vpc, spec)


def _mark_own(client: NetrisClient, view: View, cluster: ServerCluster, spec: ClusterSpec) -> None:
    """Before its server cluster goes a VPC bears our mark: else nobody would know whose it is."""
    inside = cluster.vpc.id if cluster.vpc else 0
    for vpc in view.vpcs:
        if vpc.id == inside and _is_only_ours(vpc, view) and not marks.is_ours(vpc.tags, spec):
            _mark(client, vpc, spec)


def _remove_vpc(client: NetrisClient, view: View, vpc: Vpc, spec: ClusterSpec) -> None:
    if not marks.is_ours(vpc.tags, spec) or not _is_only_ours(vpc, view):
        return
    inside = [entry for entry in client.ipam() if entry.vpc and entry.vpc.id == vpc.id]
    for entry in sorted(inside, key=lambda entry: entry.kind == "allocation"):
        client.remove_ipam(entry)  # subnets before the allocations around them
    client.remove_vpc(vpc.id)


def _is_only_ours(vpc: Vpc, view: View) -> bool:
    return not vpc.is_default and not any(other.vpc and other.vpc.id == vpc.id for other in view.others)


def _mark(client: NetrisClient, vpc: Vpc, spec: ClusterSpec) -> None:
    client.tag_vpc(vpc, tuple(sorted(vpc.tags | marks.tags_of(spec))))


def _check_free(client: NetrisClient, view: View, spec: ClusterSpec) -> None:
    """Nobody at the controller uses the cluster's prefix; what merely contains it is the site's pool."""
    own = addresses.prefix_of(spec)
    met = [other.name for other in view.others if any(own.overlaps(prefix) for prefix in other.prefixes)]
    met += [
        entry.name or str(entry.prefix)
        for entry in client.ipam()
        if entry.prefix.overlaps(own) and not own.subnet_of(entry.prefix)
    ]
    if met:
        raise PermanentError(
            "PrefixInUse",
            f"The prefix {own} of this cluster is already used in the fabric controller.",
            hint=f"Used by {', '.join(sorted(set(met))[:10])}. Give the site a pool that is its own.",
        )


def _machines(spec: ClusterSpec) -> list[str]:
    return [machine for pool in spec.pools for machine in pool.machines]


def _servers(client: NetrisClient, names: Iterable[str], settings: NetrisSettings) -> tuple[Named, ...]:
    """The controller's ids of our machines, by name at the site. Raises PermanentError."""
    found: dict[str, list[Server]] = {name: [] for name in sorted(set(names))}
    for server in client.servers():
        if server.name in found and (server.site is None or server.site.name == settings.site):
            found[server.name].append(server)
    if wrong := [name for name, servers in found.items() if len(servers) != 1]:
        raise PermanentError(
            "ServerUnknown",
            f"The fabric controller does not know these machines, or more than one each: {', '.join(wrong)}.",
            hint=f"Enter them in the controller's inventory at {settings.site}, under the same names.",
        )
    return tuple(Named(servers[0].id, name) for name, servers in found.items())


def _one(things: Sequence[Thing], name: str, kind: str, key: str) -> Thing:
    found = [thing for thing in things if thing.name == name]
    if len(found) != 1:
        raise PermanentError(
            "FabricUnknown",
            f"The fabric controller shows the portal not one {kind} {name} but {len(found)}.",
            hint=f"Correct {key} in the site's settings, or the rights of the portal's user.",
        )
    return found[0]
