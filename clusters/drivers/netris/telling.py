"""What people are told of a fabric before it is made, and of what differs afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.clients.netris.client import NetrisClient
from clusters.clients.netris.models import Acl, AclWish
from clusters.drivers.netris import addresses, changes, marks
from clusters.drivers.netris.look import View, difference
from clusters.drivers.netris.settings import NetrisSettings
from clusters.provisioning.steps import Change, ClusterSpec, Difference

NOTHING = "(nothing)"
LATER = "# and a gateway for each V-Net, out of the prefix that the cluster gets when it is approved\n"


def differences(view: View, spec: ClusterSpec, settings: NetrisSettings) -> Iterator[Difference]:
    """Each thing that apply would change."""
    cluster, vpc = view.cluster, view.vpc
    if cluster is None:
        return
    wrong = difference(view, spec, settings)
    if wrong.members:
        wanted = sorted(machine for pool in spec.pools for machine in pool.machines)
        found = sorted(f"{one.name}{' (shared)' if one.shared else ''}" for one in cluster.servers)
        yield Difference(f"server cluster {cluster.name}", "servers", ",".join(wanted), ",".join(found))
    if wrong.unmarked and vpc is not None:
        tags = " ".join(sorted(vpc.tags)) or NOTHING
        yield Difference(f"VPC {vpc.name}", "tags", marks.comment_of(spec), tags)
    stale = {rule.name: rule for rule in wrong.stale}
    for wish in wrong.missing:
        old = stale.pop(wish.name, None)
        yield Difference(f"ACL {wish.name}", "", _wished(wish), _there(old) if old else NOTHING)
    for rule in stale.values():
        yield Difference(f"ACL {rule.name}", "", NOTHING, _there(rule))


def preview(
    client: NetrisClient, view: View, spec: ClusterSpec, settings: NetrisSettings
) -> tuple[Change, ...]:
    """What apply would do. Before an approval a cluster has no prefix yet: its addresses are told later."""
    system = f"Netris at {settings.site}"
    if view.cluster is not None:
        return tuple(_change(one, system) for one in differences(view, spec, settings))
    template = changes.template_of(client, settings)
    given = bool(spec.prefix)
    gateways = addresses.gateways_for(template, spec, settings) if given else ()
    wish = changes.wish_for(client, spec, settings, template, gateways)
    text = ("" if given or not settings.gateways else LATER) + client.text_of(wish)
    rules = addresses.acls_for(spec, settings, None) if given else ()
    return (
        Change("create", system, f"server cluster {spec.name}", text),
        Change("create", system, f"VPC of {spec.name}"),
        *(Change("create", system, f"V-Net {spec.name}-{net.postfix}") for net in template.nets),
        *(Change("create", system, f"ACL {rule.name}", client.text_of(rule)) for rule in rules),
        *(
            Change("create", system, f"ACL {spec.name}-{rule.name}", f"{rule.action} to {rule.destination}")
            for rule in settings.acls
            if not given
        ),
    )


def _change(one: Difference, system: str) -> Change:
    if one.found == NOTHING and not one.path:
        return Change("create", system, one.thing, one.wanted)
    if one.wanted == NOTHING:
        return Change("remove", system, one.thing, one.found)
    return Change("change", system, one.thing, differences=(one,))


def _wished(wish: AclWish) -> str:
    text = f"{wish.action} {wish.protocol} from {wish.source} to {wish.destination}"
    return f"{text} {wish.ports[0]}-{wish.ports[1]}" if wish.protocol in {"tcp", "udp"} else text


def _there(rule: Acl) -> str:
    text = f"{rule.action} {rule.protocol} from {rule.source} to {rule.destination}"
    return f"{text} {rule.ports[0]}-{rule.ports[1]}" if rule.protocol in {"tcp", "udp"} else text
