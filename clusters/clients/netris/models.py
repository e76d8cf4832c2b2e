"""What the Netris client speaks: our own types."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import Literal

from portal.lib.errors import PermanentError, TemporaryError

AclAction = Literal["permit", "deny"]
IpamKind = Literal["allocation", "subnet"]


class SessionRefused(PermanentError):
    """The controller does not take the user and password that the site has."""


class BadAnswer(TemporaryError):
    """What came back is not an answer of a Netris controller: a login page, half a body, half a list."""


class Unclear(TemporaryError):
    """A change was sent and no clear answer came: it may have been made. Look before asking again."""


@dataclass(frozen=True, slots=True)
class Named:
    """A thing of which only id and name matter here: a site, a Netris tenant, a template."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server of the controller's inventory. `site` is None where the controller does not say."""

    id: int
    name: str
    site: Named | None = None
    shared: bool = False  # also a member elsewhere, by tagged ports


@dataclass(frozen=True, slots=True)
class TemplateNet:
    """One V-Net that a template makes."""

    postfix: str
    kind: str  # l2vpn, l3vpn, netris-ufm, netris-nvlink
    gateway: str = ""  # "10.0.0.1/24", "specify", "auto" or "" for none
    length: int = 0  # of the subnet behind the gateway; 0 where the template does not say


@dataclass(frozen=True, slots=True)
class Template:
    """A server cluster template."""

    id: int
    name: str
    nets: tuple[TemplateNet, ...]


@dataclass(frozen=True, slots=True)
class Gateway:
    """The gateway of one V-Net of one server cluster, in place of the template's."""

    postfix: str
    address: IPv4Interface


@dataclass(frozen=True, slots=True)
class VNet:
    """A V-Net of a server cluster. `status` is "" in listings of server clusters."""

    id: int
    name: str
    prefixes: tuple[IPv4Network, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True)
class Vpc:
    """A VPC: one VRF on the switches."""

    id: int
    name: str
    tags: frozenset[str] = frozenset()
    is_default: bool = False
    tenant: Named = Named(0, "")
    guests: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerCluster:
    """Servers that share a network template. `vpc` is None while the controller still makes it."""

    id: int
    name: str
    status: str  # the label, lower case: "ok" when the switches follow
    site: Named | None
    vpc: Named | None
    template: Named | None
    tags: frozenset[str]
    servers: tuple[Server, ...]
    vnets: tuple[VNet, ...]
    prefixes: tuple[IPv4Network, ...]  # of its subnets and gateways


@dataclass(frozen=True, slots=True)
class ServerClusterWish:
    """A server cluster to be made, in a VPC of its own that the controller makes with it."""

    name: str
    tenant: Named
    site: Named
    template: Named
    tags: tuple[str, ...]
    servers: tuple[Named, ...]
    gateways: tuple[Gateway, ...] = ()


@dataclass(frozen=True, slots=True)
class IpamEntry:
    """An allocation or a subnet. `vpc` is None where the controller does not say."""

    id: int
    kind: IpamKind
    name: str
    prefix: IPv4Network
    vpc: Named | None = None


@dataclass(frozen=True, slots=True)
class AclWish:
    """One rule. Ports are (first, last); (1, 65535) are all. `protocol` "all" has no ports."""

    name: str
    action: AclAction
    protocol: str
    source: IPv4Network
    destination: IPv4Network
    ports: tuple[int, int] = (1, 65535)
    comment: str = ""
    vpc: Named | None = None  # sent only where the site says that its controller takes it


@dataclass(frozen=True, slots=True)
class Acl:
    """A rule as it is. Compare by `says`."""

    id: int
    name: str
    action: str
    protocol: str
    source: str  # "10.90.0.0/20"
    destination: str
    ports: tuple[int, int]
    comment: str
    status: str = ""

    def says(self, wish: AclWish) -> bool:
        """Whether the rule is the one that is wished for."""
        fits = self.action == wish.action and self.protocol == wish.protocol and self.comment == wish.comment
        places = (self.source, self.destination) == (str(wish.source), str(wish.destination))
        return fits and places and (wish.protocol not in {"tcp", "udp"} or self.ports == wish.ports)
