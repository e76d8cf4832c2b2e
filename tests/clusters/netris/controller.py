"""What the fake controller holds and how it behaves; server.py gives it a voice."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Iterator
from ipaddress import ip_interface
from typing import Any

from portal.lib.types import JSONDict
from tests.clusters.netris.schemas import violation

SITE, OTHER_SITE, OWNER = {"id": 1, "name": "DC1"}, {"id": 2, "name": "DC2"}, {"id": 7, "name": "portal"}


class Refusal(Exception):
    """`isSuccess: false`, mostly with HTTP 200."""

    def __init__(self, message: str, status: int = 200) -> None:
        super().__init__(message)
        self.message, self.status = message, status


class Controller:
    """A site of servers, and what is made of them. `ready_after` looks pass until a server cluster is up."""

    def __init__(self) -> None:
        self.numbers = itertools.count(50)
        self.ready_after = 1
        self.takes_gateways = True
        self.violations: list[str] = []
        self.servers = [self._hardware(f"gpu-{number}", SITE) for number in range(1, 9)]
        self.servers += [self._hardware("gpu-1", OTHER_SITE), self._hardware("leaf-1", SITE, kind="switch")]
        self.templates: list[JSONDict] = [
            {
                "id": 3,
                "name": "gpu",
                "vnets": [
                    {"postfix": "E-W", "type": "l3vpn", "vlan": "untagged", "serverNics": ["eth3"]},
                    {
                        "postfix": "N-S",
                        "type": "l2vpn",
                        "vlan": "untagged",
                        "serverNics": ["eth1"],
                        "ipv4Gateway": "192.168.10.254/24",
                    },
                    {"postfix": "mgmt", "type": "l2vpn", "serverNics": ["eth0"], "ipv4Gateway": "specify"},
                ],
            }
        ]
        default: JSONDict = {"id": 1, "name": "Default", "isDefault": True, "tags": []}
        self.vpcs: list[JSONDict] = [default | {"adminTenant": OWNER, "guestTenant": []}]
        self.clusters: list[JSONDict] = []
        self.vnets: list[JSONDict] = []
        self.rules: list[JSONDict] = []
        # the site's pool: contains the clusters' prefixes, so it does not count as using them
        self.ipam: list[JSONDict] = [
            {"id": 2, "type": "allocation", "name": "pool", "prefix": "10.96.0.0/12", "vpc": None}
            | {"children": []}
        ]

    def _hardware(self, name: str, site: JSONDict, kind: str = "server") -> JSONDict:
        return {"id": next(self.numbers), "name": name, "type": kind, "site": site, "tenant": OWNER}

    # -- what is asked of it

    def answer(self, method: str, path: str, body: Any) -> Any:
        """The data of the envelope. Raises Refusal."""
        if method != "GET" and (wrong := violation(method, path, body)):
            self.violations.append(wrong)
            raise Refusal("Bad request", 400)
        for verb, pattern, act in self._routes():
            if verb == method and (match := re.fullmatch(pattern, path)):
                return copy.deepcopy(act(match, body))
        raise Refusal(f"Cannot {method} {path}", 404)

    def _routes(self) -> tuple[tuple[str, str, Callable[[re.Match[str], Any], Any]], ...]:
        return (
            ("GET", r"/api/v2/sites", lambda _m, _b: [SITE, OTHER_SITE]),
            ("GET", r"/api/tenants", lambda _m, _b: [OWNER]),
            ("GET", r"/api/v2/hw", lambda _m, _b: self.servers),
            ("GET", r"/api/v2/server-cluster-template", lambda _m, _b: self.templates),
            ("GET", r"/api/v2/server-cluster", lambda _m, _b: self._look()),
            ("GET", r"/api/v2/server-cluster/(\d+)", lambda m, _b: self._one(self._look(), m)),
            ("POST", r"/api/v2/server-cluster", lambda _m, b: self.add_cluster(b)),
            ("PUT", r"/api/v2/server-cluster/(\d+)", self._update),
            ("DELETE", r"/api/v2/server-cluster/(\d+)", lambda m, _b: self._remove_cluster(m)),
            ("GET", r"/api/v2/vpc", lambda _m, _b: self.vpcs),
            ("PUT", r"/api/v2/vpc/(\d+)", lambda m, b: self._one(self.vpcs, m).update(b)),
            ("DELETE", r"/api/v2/vpc/(\d+)", lambda m, _b: self._remove_vpc(m)),
            ("GET", r"/api/v2/vnet", lambda _m, _b: self.vnets),
            ("GET", r"/api/v2/ipam", lambda _m, _b: self.ipam),
            ("DELETE", r"/api/v2/ipam/\w+/(\d+)", lambda m, _b: self._remove_ipam(m)),
            ("GET", r"/api/acl", lambda _m, _b: self.rules),
            ("POST", r"/api/acl", lambda _m, b: self._add_rule(b)),
            ("DELETE", r"/api/acl", lambda _m, b: self._remove_rules(b)),
        )

    # -- what it does

    def add_cluster(self, body: JSONDict) -> JSONDict:
        """A server cluster with all that comes with it."""
        if any(one["name"] == body["name"] for one in self.clusters):
            raise Refusal(f"Server cluster {body['name']} already exists")
        self._check_members(body["servers"], but=None)
        template = next(
            (one for one in self.templates if one["id"] == body["srvClusterTemplate"]["id"]), None
        )
        if template is None:
            raise Refusal("Template not found")
        vpc = self._vpc(body)
        number = next(self.numbers)
        made: JSONDict = {**copy.deepcopy(body), "id": number, "vpc": {"id": vpc["id"], "name": vpc["name"]}}
        gateways = self._gateways(template, body)
        made["looks"] = 0
        made["nets"] = [self._add_net(body["name"], net, gateways) for net in template["vnets"]]
        self._add_subnets(gateways.values(), vpc)
        self.clusters.append(made)
        return {"id": number}

    def _vpc(self, body: JSONDict) -> JSONDict:
        if body["vpc"]["id"]:
            return next(one for one in self.vpcs if one["id"] == body["vpc"]["id"])
        made = {"id": next(self.numbers), "name": f"{body['name']}-vpc", "isDefault": False, "tags": []}
        self.vpcs.append(made | {"adminTenant": body["admin"], "guestTenant": []})
        return self.vpcs[-1]

    def _gateways(self, template: JSONDict, body: JSONDict) -> dict[str, str]:
        own = {net["postfix"]: net["ipv4Gateway"] for net in template["vnets"] if net.get("ipv4Gateway")}
        given = {one["postfix"]: one["address"] for one in body["srvClusterTemplate"].get("ipv4Gateways", ())}
        if unknown := given.keys() - own.keys():
            raise Refusal(f"Unknown postfix {', '.join(unknown)}")
        found = own | given if self.takes_gateways else own
        if missing := [name for name, address in found.items() if address == "specify"]:
            raise Refusal(f"Gateway of {', '.join(missing)} must be specified")
        return found

    def _add_net(self, name: str, net: JSONDict, gateways: dict[str, str]) -> JSONDict:
        prefixes = [{"prefix": gateways[net["postfix"]]}] if net["postfix"] in gateways else []
        made: JSONDict = {"id": next(self.numbers), "name": f"{name}-{net['postfix']}"}
        self.vnets.append(made | {"gateways": prefixes, "status": {"label": "Provisioning"}})
        return made | {"ipv4Gateways": prefixes, "ipv6Gateways": []}

    def _add_subnets(self, addresses: Any, vpc: JSONDict) -> None:
        where = {"id": vpc["id"], "name": vpc["name"]}
        for address in addresses:
            prefix = str(ip_interface(address).network)
            subnet = {"id": next(self.numbers), "type": "subnet", "name": prefix, "prefix": prefix}
            around = {"id": next(self.numbers), "type": "allocation", "name": prefix, "prefix": prefix}
            self.ipam.append(around | {"vpc": where, "children": [subnet | {"vpc": where, "children": []}]})

    def _look(self) -> list[JSONDict]:
        """Each look brings every server cluster a step further: to be up, or to be gone."""
        shown = []
        for one in list(self.clusters):
            one["looks"] += 1
            is_up = one["looks"] > self.ready_after
            if one.get("going") and is_up:
                self.clusters.remove(one)
                continue
            if is_up and not one.get("label"):
                for net in self.vnets:
                    if net["id"] in {made["id"] for made in one["nets"]}:
                        net["status"] = {"label": "Active"}
            shown.append(self._shown(one, is_up=is_up))
        return shown

    @staticmethod
    def _shown(one: JSONDict, *, is_up: bool) -> JSONDict:
        label = "Deleting" if one.get("going") else one.get("label") or ("OK" if is_up else "Provisioning")
        subnets = [{"id": 0, "prefix": net["prefix"]} for made in one["nets"] for net in made["ipv4Gateways"]]
        return {
            **{name: value for name, value in one.items() if name not in {"looks", "nets", "going", "label"}},
            "state": "active",
            "status": {"label": label, "value": label.lower()},
            "resources": {"vnets": one["nets"] if is_up else [], "allocations": [], "subnets": subnets},
        }

    @staticmethod
    def _one(things: list[JSONDict], match: re.Match[str]) -> JSONDict:
        found = next((one for one in things if one["id"] == int(match[1])), None)
        if found is None:
            raise Refusal("Item not found", 404)
        return found

    def _update(self, match: re.Match[str], body: JSONDict) -> None:
        found = self._one(self.clusters, match)
        self._check_members(body["servers"], but=found)
        found.update(copy.deepcopy(body), looks=0)

    def _check_members(self, members: list[JSONDict], but: JSONDict | None) -> None:
        known = {one["id"] for one in self.servers if one["type"] == "server"}
        taken = {one["id"] for other in self.clusters if other is not but for one in other["servers"]}
        for one in members:
            if one["id"] not in known:
                raise Refusal(f"Server {one['id']} not found")
            if one["id"] in taken and not one["shared"]:
                raise Refusal(f"Server {one['name']} is already used by another server cluster")

    def _remove_cluster(self, match: re.Match[str]) -> None:
        found = self._one(self.clusters, match)
        gone = {made["id"] for made in found["nets"]}
        self.vnets = [net for net in self.vnets if net["id"] not in gone]
        found.update(going=True, looks=0, servers=[])

    def _remove_vpc(self, match: re.Match[str]) -> None:
        found = self._one(self.vpcs, match)
        inside = [one for one in self._all_ipam() if (one["vpc"] or {}).get("id") == found["id"]]
        if inside or any(one["vpc"]["id"] == found["id"] for one in self.clusters):
            raise Refusal("VPC is in use")
        self.vpcs.remove(found)

    def _all_ipam(self) -> Iterator[JSONDict]:
        for one in self.ipam:
            yield one
            yield from one["children"]

    def _remove_ipam(self, match: re.Match[str]) -> None:
        found = self._one(list(self._all_ipam()), match)
        if found["children"]:
            raise Refusal("Allocation is in use: it has subnets")
        self.ipam = [one for one in self.ipam if one is not found]
        for one in self.ipam:
            one["children"] = [child for child in one["children"] if child is not found]

    def _add_rule(self, body: JSONDict) -> JSONDict:
        if any(rule["name"] == body["name"] for rule in self.rules):
            raise Refusal("ACL name must be unique")
        source, destination = (body[name].partition("/") for name in ("src_prefix", "dst_prefix"))
        made = {name: value for name, value in body.items() if name != "proto"}
        made |= {"id": next(self.numbers), "protocol": body["proto"], "status": "active"}
        made |= {"src_prefix": source[0], "src_length": int(source[2])}
        self.rules.append(made | {"dst_prefix": destination[0], "dst_length": int(destination[2])})
        return {"id": made["id"]}

    def _remove_rules(self, body: JSONDict) -> None:
        if not set(body["id"]) <= {rule["id"] for rule in self.rules}:
            raise Refusal("ACL not found")
        self.rules = [rule for rule in self.rules if rule["id"] not in body["id"]]
