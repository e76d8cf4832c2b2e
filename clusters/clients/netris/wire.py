"""The only place that knows how a Netris controller writes things down.

Written from the types of the vendor's published Go client and Terraform provider (2024 to 2026); nothing
here was tried against a controller. Unknown keys are ignored, missing ones are empty.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_interface

from clusters.clients.netris.models import (
    Acl,
    AclWish,
    BadAnswer,
    IpamEntry,
    Named,
    Server,
    ServerCluster,
    ServerClusterWish,
    Template,
    TemplateNet,
    VNet,
    Vpc,
)
from portal.lib.types import JSONDict

CREATE_NEW: JSONDict = {"id": 0, "name": "Create New"}  # a VPC of its own


def named(item: object) -> Named | None:
    """{"id": 7, "name": "x"}, or None for anything without an id."""
    if not isinstance(item, dict) or not _number(item.get("id")):
        return None
    return Named(_number(item["id"]), str(item.get("name") or ""))


def must_be_named(item: object) -> Named:
    """The same of a thing that cannot be without. Raises BadAnswer."""
    found = named(item)
    if found is None:
        raise BadAnswer("BadAnswer", "The fabric controller listed something without an id.")
    return found


def server(item: JSONDict) -> Server:
    """Of the inventory, or a member of a server cluster."""
    known = must_be_named(item)
    return Server(known.id, known.name, named(item.get("site")), bool(item.get("shared")))


def is_server(item: JSONDict) -> bool:
    """The inventory also holds switches and softgates."""
    return str(item.get("type", "")).lower() == "server"


def template(item: JSONDict) -> Template:
    """`vnets` comes as a list or as text that holds one."""
    known = must_be_named(item)
    nets = item.get("vnets") or []
    if isinstance(nets, str):
        with contextlib.suppress(json.JSONDecodeError):
            nets = json.loads(nets)
    if not isinstance(nets, list):
        raise BadAnswer("BadAnswer", "The fabric controller's template cannot be read.")
    return Template(known.id, known.name, tuple(_net(net) for net in nets if isinstance(net, dict)))


def _net(net: JSONDict) -> TemplateNet:
    gateway, length = net.get("ipv4Gateway") or "", 0
    if isinstance(gateway, dict):
        length, gateway = _number(gateway.get("childSubnetPrefixLength")), "auto"
    elif "/" in str(gateway):
        length = _number(str(gateway).partition("/")[2])
    return TemplateNet(str(net.get("postfix", "")), str(net.get("type", "")), str(gateway), length)


def server_cluster(item: JSONDict) -> ServerCluster:
    """Of a listing or by id. Status and resources are absent in old releases."""
    known = must_be_named(item)
    if not isinstance(item.get("servers"), list):
        raise BadAnswer("BadAnswer", "The fabric controller does not say which servers are members.")
    resources = _dict(item.get("resources"))
    vnets = tuple(vnet(one) for one in _dicts(resources.get("vnets")))
    # not its allocations: one from which the controller takes subnets may be shared by many
    made = _dicts(resources.get("subnets"))
    prefixes = {network for one in made for network in _networks(one.get("prefix"))}
    prefixes |= {network for one in vnets for network in one.prefixes}
    return ServerCluster(
        id=known.id,
        name=known.name,
        status=_label(item),
        site=named(item.get("site")),
        vpc=named(item.get("vpc")),
        template=named(item.get("srvClusterTemplate")),
        tags=_tags(item),
        servers=tuple(server(one) for one in _dicts(item.get("servers"))),
        vnets=vnets,
        prefixes=tuple(sorted(prefixes)),
    )


def vnet(item: JSONDict) -> VNet:
    """Of the list of V-Nets, or of a server cluster's resources."""
    known = must_be_named(item)
    gateways = [*_dicts(item.get("ipv4Gateways")), *_dicts(item.get("gateways"))]
    prefixes = {network for one in gateways for network in _networks(one.get("prefix"))}
    return VNet(known.id, known.name, tuple(sorted(prefixes)), _label(item))


def vpc(item: JSONDict) -> Vpc:
    """A VPC."""
    known = must_be_named(item)
    return Vpc(
        id=known.id,
        name=known.name,
        tags=_tags(item),
        is_default=bool(item.get("isDefault")),
        tenant=named(item.get("adminTenant")) or Named(0, ""),
        guests=tuple(must_be_named(one) for one in _dicts(item.get("guestTenant"))),
    )


def ipam(items: list[JSONDict]) -> Iterator[IpamEntry]:
    """The tree of allocations and subnets, flat. Only IPv4: v6 prefixes are none of ours."""
    for item in items:
        kind = str(item.get("type", ""))
        for network in _networks(item.get("prefix")):
            if kind in {"allocation", "subnet"}:
                known = must_be_named(item)
                yield IpamEntry(known.id, kind, known.name, network, named(item.get("vpc")))  # type: ignore[arg-type]
        yield from ipam(_dicts(item.get("children")))


def acl(item: JSONDict) -> Acl:
    """A rule of the v1 list."""
    known = must_be_named(item)
    return Acl(
        id=known.id,
        name=known.name,
        action=str(item.get("action", "")),
        protocol=str(item.get("protocol", "")),
        source=_joined(item.get("src_prefix"), item.get("src_length")),
        destination=_joined(item.get("dst_prefix"), item.get("dst_length")),
        ports=(_number(item.get("dst_port_from")), _number(item.get("dst_port_to"))),
        comment=str(item.get("comment") or ""),
        status=str(item.get("status") or ""),
    )


def write_server_cluster(wish: ServerClusterWish) -> JSONDict:
    """Body of the POST. Gateways stand inside the template's part, in newer releases only."""
    chosen = _id_name(wish.template)
    if wish.gateways:
        chosen["ipv4Gateways"] = [
            {"postfix": one.postfix, "address": str(one.address)} for one in wish.gateways
        ]
    return {
        "name": wish.name,
        "admin": _id_name(wish.tenant),
        "site": _id_name(wish.site),
        "vpc": dict(CREATE_NEW),
        "srvClusterTemplate": chosen,
        **write_members(wish.tags, wish.servers),
    }


def write_members(tags: tuple[str, ...], servers: tuple[Named, ...]) -> JSONDict:
    """Body of the PUT: nothing but the tags and *all* servers; who is not listed is taken out."""
    return {"tags": list(tags), "servers": [{**_id_name(one), "shared": False} for one in servers]}


def write_vpc(found: Vpc, tags: tuple[str, ...]) -> JSONDict:
    """Body of the PUT that marks a VPC."""
    return {
        "name": found.name,
        "adminTenant": _id_name(found.tenant),
        "guestTenant": [_id_name(one) for one in found.guests],
        "tags": list(tags),
    }


def write_acl(wish: AclWish) -> JSONDict:
    """Body of the POST."""
    ported = wish.protocol in {"tcp", "udp"}
    body: JSONDict = {
        "name": wish.name,
        "action": wish.action,
        "proto": wish.protocol,
        "src_prefix": str(wish.source),
        "src_port_from": 1 if ported else None,
        "src_port_to": 65535 if ported else None,
        "src_port_group": None,
        "dst_prefix": str(wish.destination),
        "dst_port_from": wish.ports[0] if ported else None,
        "dst_port_to": wish.ports[1] if ported else None,
        "dst_port_group": None,
        "established": 1 if ported else 0,
        "icmp_type": 1,
        "reverse": "yes" if wish.action == "permit" else "no",
        "comment": wish.comment,
        "valid_until": None,
    }
    return body if wish.vpc is None else {**body, "vpc": _id_name(wish.vpc)}


def _id_name(one: Named) -> JSONDict:
    return {"id": one.id, "name": one.name}


def _dict(value: object) -> JSONDict:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[JSONDict]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _tags(item: JSONDict) -> frozenset[str]:
    return frozenset(str(tag) for tag in item.get("tags") or ())


def _label(item: JSONDict) -> str:
    status = item.get("status")
    text = status.get("label") if isinstance(status, dict) else status
    return str(text or "").strip().lower()


def _number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _networks(prefix: object) -> Iterator[IPv4Network]:
    with contextlib.suppress(ValueError):
        network = ip_interface(str(prefix)).network
        if isinstance(network, IPv4Network):
            yield network


def _joined(prefix: object, length: object) -> str:
    text = str(prefix or "")
    return text if "/" in text or length is None else f"{text}/{_number(length)}"
