"""What the portal asks of a Netris controller."""

from __future__ import annotations

import json
from contextlib import suppress
from urllib.parse import urlencode

from clusters.clients.netris import wire
from clusters.clients.netris.models import (
    Acl,
    AclWish,
    IpamEntry,
    Named,
    Server,
    ServerCluster,
    ServerClusterWish,
    Template,
    VNet,
    Vpc,
)
from clusters.clients.netris.session import Missing, Session
from portal.lib.types import JSONDict

CLUSTERS, TEMPLATES = "/api/v2/server-cluster", "/api/v2/server-cluster-template"
VPCS, VNETS, IPAM = "/api/v2/vpc", "/api/v2/vnet", "/api/v2/ipam"
SITES, HARDWARE, TENANTS, ACLS = "/api/v2/sites", "/api/v2/hw", "/api/tenants", "/api/acl"


class NetrisClient:
    """Typed calls; each is one request. Listings are whole or raise. Changes ask and do not wait.

    All raise TemporaryError or PermanentError; a change also Unclear, after which only a look tells.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"NetrisClient({self._session!r})"

    def sites(self) -> tuple[Named, ...]:
        """All sites."""
        return self._named(SITES)

    def tenants(self) -> tuple[Named, ...]:
        """Netris' own tenants (owners of things), not ours. The v1 API sends a bare list."""
        return self._named(TENANTS)

    def servers(self) -> tuple[Server, ...]:
        """All servers of the inventory, of every site."""
        query = urlencode({"type": "server"})
        found = self._session.items(f"{HARDWARE}?{query}")
        return tuple(wire.server(item) for item in found if wire.is_server(item))

    def templates(self) -> tuple[Template, ...]:
        """All server cluster templates."""
        return tuple(map(wire.template, self._session.items(TEMPLATES)))

    def server_clusters(self) -> tuple[ServerCluster, ...]:
        """All server clusters."""
        return tuple(map(wire.server_cluster, self._session.items(CLUSTERS)))

    def server_cluster(self, number: int) -> ServerCluster | None:
        """One by id, or None when the controller says that it is not there."""
        item = self._item(CLUSTERS, number)
        return None if item is None else wire.server_cluster(item)

    def add_server_cluster(self, wish: ServerClusterWish) -> None:
        """Ask for a server cluster, with a VPC, V-Nets and subnets of its own."""
        self._session.change("POST", CLUSTERS, wire.write_server_cluster(wish))

    @staticmethod
    def text_of(wish: ServerClusterWish | AclWish) -> str:
        """What `add_server_cluster` or `add_acl` would send, for people to read."""
        body = wire.write_acl(wish) if isinstance(wish, AclWish) else wire.write_server_cluster(wish)
        return json.dumps({name: value for name, value in body.items() if value is not None}, indent=2)

    def set_servers(self, number: int, tags: tuple[str, ...], servers: tuple[Named, ...]) -> None:
        """Give a server cluster exactly these tags and these servers."""
        self._session.change("PUT", f"{CLUSTERS}/{number:d}", wire.write_members(tags, servers))

    def remove_server_cluster(self, number: int) -> None:
        """Ask for its removal; absent is fine."""
        self._remove(CLUSTERS, number)

    def vpcs(self) -> tuple[Vpc, ...]:
        """All VPCs."""
        return tuple(map(wire.vpc, self._session.items(VPCS)))

    def tag_vpc(self, found: Vpc, tags: tuple[str, ...]) -> None:
        """Give a VPC these tags; the rest stays as it was found."""
        self._session.change("PUT", f"{VPCS}/{found.id:d}", wire.write_vpc(found, tags))

    def remove_vpc(self, number: int) -> None:
        """Ask for its removal; absent is fine. A VPC with anything in it raises StillInUse."""
        self._remove(VPCS, number)

    def vnets(self) -> tuple[VNet, ...]:
        """All V-Nets with their status."""
        return tuple(map(wire.vnet, self._session.items(VNETS)))

    def ipam(self) -> tuple[IpamEntry, ...]:
        """All IPv4 allocations and subnets, flat."""
        return tuple(wire.ipam(self._session.items(IPAM)))

    def remove_ipam(self, entry: IpamEntry) -> None:
        """Ask for its removal; absent is fine."""
        self._remove(f"{IPAM}/{entry.kind}", entry.id)

    def acls(self) -> tuple[Acl, ...]:
        """All rules of the v1 list, in the controller's order."""
        return tuple(map(wire.acl, self._session.items(ACLS)))

    def add_acl(self, wish: AclWish) -> None:
        """Ask for one rule more."""
        self._session.change("POST", ACLS, wire.write_acl(wish))

    def remove_acls(self, numbers: tuple[int, ...]) -> None:
        """Ask for the removal of rules; absent is fine."""
        with suppress(Missing):
            self._session.change("DELETE", ACLS, {"id": list(numbers)})

    def _named(self, path: str) -> tuple[Named, ...]:
        return tuple(map(wire.must_be_named, self._session.items(path)))

    def _item(self, path: str, number: int) -> JSONDict | None:
        try:
            return self._session.item(f"{path}/{number:d}")
        except Missing:
            return None

    def _remove(self, path: str, number: int) -> None:
        with suppress(Missing):
            self._session.change("DELETE", f"{path}/{number:d}")
