"""Shapes of several releases end in the same types."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from clusters.clients.netris import wire
from clusters.clients.netris.models import BadAnswer, TemplateNet
from portal.lib.types import JSONDict


def test_a_server_cluster_of_an_old_release_has_neither_status_nor_resources() -> None:
    found = wire.server_cluster({"id": 5, "name": "a", "servers": [{"id": 1, "name": "gpu-1"}], "tags": None})
    assert (found.status, found.vpc, found.vnets, found.prefixes) == ("", None, (), ())
    assert [(one.name, one.shared) for one in found.servers] == [("gpu-1", False)]


def test_addresses_come_from_subnets_and_gateways_but_not_from_shared_allocations() -> None:
    found = wire.server_cluster(
        {
            "id": 5,
            "name": "a",
            "servers": [],
            "status": {"label": " OK "},
            "resources": {
                "vnets": [{"id": 9, "name": "a-x", "ipv4Gateways": [{"prefix": "10.0.1.254/24"}, {}]}],
                "allocations": [{"id": 1, "prefix": "10.0.0.0/8"}],
                "subnets": [{"id": 2, "prefix": "10.0.2.0/24"}, {"id": 3, "prefix": "2001:db8::/64"}],
            },
        }
    )
    assert found.status == "ok"
    assert found.prefixes == (IPv4Network("10.0.1.0/24"), IPv4Network("10.0.2.0/24"))


def test_whoever_does_not_say_who_the_members_are_is_not_believed() -> None:
    with pytest.raises(BadAnswer):
        wire.server_cluster({"id": 5, "name": "a"})
    with pytest.raises(BadAnswer):
        wire.server_cluster({"name": "a", "servers": []})


NETS = [
    {"postfix": "a", "type": "l2vpn", "ipv4Gateway": "192.168.10.254/26"},
    {"postfix": "b", "type": "l2vpn", "ipv4Gateway": {"assignType": "auto", "childSubnetPrefixLength": 24}},
    {"postfix": "c", "type": "l3vpn"},
]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_template_may_hold_its_nets_as_text(as_text: bool) -> None:
    nets: object = NETS if not as_text else str(NETS).replace("'", '"')
    assert wire.template({"id": 3, "name": "gpu", "vnets": nets}).nets == (
        TemplateNet("a", "l2vpn", "192.168.10.254/26", 26),
        TemplateNet("b", "l2vpn", "auto", 24),
        TemplateNet("c", "l3vpn"),
    )
    with pytest.raises(BadAnswer):
        wire.template({"id": 3, "name": "gpu", "vnets": "neither"})


def test_the_tree_of_addresses_becomes_flat() -> None:
    subnet = {"id": 2, "type": "subnet", "name": "s", "prefix": "10.0.1.0/24", "vpc": {"id": 8, "name": "v"}}
    tree: list[JSONDict] = [
        {"id": 1, "type": "allocation", "name": "a", "prefix": "10.0.0.0/16", "children": [subnet]},
        {"id": 3, "type": "host", "name": "h", "prefix": "10.9.0.1/32"},
    ]
    found = [(one.kind, str(one.prefix), one.vpc.id if one.vpc else None) for one in wire.ipam(tree)]
    assert found == [("allocation", "10.0.0.0/16", None), ("subnet", "10.0.1.0/24", 8)]
