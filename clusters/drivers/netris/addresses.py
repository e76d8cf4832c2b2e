"""Which addresses a cluster's V-Nets get, and which ACLs go with them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv4Network

from clusters.clients.netris.models import AclWish, Gateway, Named, Template
from clusters.drivers.netris.marks import comment_of
from clusters.drivers.netris.settings import NetrisSettings, Rule
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError


def prefix_of(spec: ClusterSpec) -> IPv4Network:
    """The prefix that was given to the cluster. Raises PermanentError PrefixMissing."""
    try:
        return IPv4Network(spec.prefix)
    except ValueError:
        raise PermanentError(
            "PrefixMissing",
            "The cluster has no addresses of its own at this site.",
            hint="Give the site a pool of addresses (settings, section fabric), then retry.",
        ) from None


def gateways_for(template: Template, spec: ClusterSpec, settings: NetrisSettings) -> tuple[Gateway, ...]:
    """A subnet out of the cluster's prefix for each V-Net with a gateway, in the template's order.

    The same template and prefix always give the same gateways. Raises PermanentError.
    """
    if not settings.gateways:
        if any(net.gateway == "specify" for net in template.nets):
            raise PermanentError(
                "TemplateWantsGateways",
                "The template asks for gateways that the site does not send.",
                hint=f"Set netris.gateways to true, or give gateways in the template {template.name}.",
            )
        return ()
    nets = [net for net in template.nets if net.gateway and net.gateway != "auto"]
    if not nets:
        return ()
    left = iter(_carve(prefix_of(spec), [net.length or settings.subnet_length for net in nets]))
    return tuple(
        Gateway(net.postfix, IPv4Interface((subnet[1], subnet.prefixlen)))
        for net, subnet in zip(nets, left, strict=True)
    )


def _carve(prefix: IPv4Network, lengths: list[int]) -> Iterator[IPv4Network]:
    start = int(prefix.network_address)
    for length in lengths:
        size = 1 << (32 - length)
        start = (start + size - 1) // size * size  # a subnet begins at a multiple of its size
        if start + size - 1 > int(prefix.broadcast_address):
            raise PermanentError(
                "PrefixTooSmall",
                f"The cluster's prefix {prefix} has no room for the V-Nets of the template.",
                hint="Give the site's clusters longer prefixes, or the template fewer V-Nets with gateways.",
            )
        yield IPv4Network((start, length))
        start += size


def acls_for(spec: ClusterSpec, settings: NetrisSettings, vpc: Named | None) -> tuple[AclWish, ...]:
    """The site's rules for this cluster, in the order in which they must come into being.

    Permits first. A deny whose destination overlaps the cluster's own prefix would cut the cluster off
    from itself: then a permit within the own prefix comes before it.
    """
    if not settings.acls:
        return ()
    own = prefix_of(spec)
    wishes = [_wish(rule, own, spec, settings, vpc) for rule in settings.acls]
    if any(wish.action == "deny" and wish.destination.overlaps(own) for wish in wishes):
        inner = Rule("own", "permit", "all", own)
        wishes.insert(0, _wish(inner, own, spec, settings, vpc))
    return tuple(sorted(wishes, key=lambda wish: wish.action == "deny"))


def _wish(
    rule: Rule, own: IPv4Network, spec: ClusterSpec, settings: NetrisSettings, vpc: Named | None
) -> AclWish:
    return AclWish(
        name=f"{spec.name}-{rule.name}",
        action=rule.action,
        protocol=rule.protocol,
        source=own,
        destination=rule.destination,
        ports=rule.ports,
        comment=comment_of(spec),
        vpc=vpc if settings.acl_vpc else None,
    )
