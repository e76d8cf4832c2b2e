"""Bodies that a Netris controller takes, as the vendor's published clients write them down: types only.

Written for these tests from the types in netrisai/netriswebapi and netrisai/terraform-provider-netris
(2024 to 2026): names, types and which keys a POST or PUT has. What a controller really refuses is not known.
Unknown keys are refused here: a misspelt one would go unnoticed otherwise.
"""

from __future__ import annotations

import re
from typing import Any

import jsonschema

from portal.lib.types import JSONDict

Schema = JSONDict


def closed(required: dict[str, Schema], **optional: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
        "additionalProperties": False,
    }


def many(schema: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": schema}


TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 255}
NUMBER: Schema = {"type": "integer", "minimum": 1}
PORT: Schema = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "null"}]}
PREFIX: Schema = {"type": "string", "pattern": r"^\d+\.\d+\.\d+\.\d+/\d+$"}
TAGS = many(TEXT)
ID_NAME = closed({"id": NUMBER}, name=TEXT)
VPC_CHOICE = {"anyOf": [ID_NAME, closed({"id": {"const": 0}, "name": {"const": "Create New"}})]}
GATEWAY = closed({"postfix": TEXT, "address": PREFIX})
CHOSEN_TEMPLATE = closed({"id": NUMBER}, name=TEXT, ipv4Gateways=many(GATEWAY), ipv6Gateways=many(GATEWAY))
MEMBER = closed({"id": NUMBER, "shared": {"type": "boolean"}}, name=TEXT)

LOGIN = closed({"user": TEXT, "password": TEXT, "auth_scheme_id": {"const": 1}})
CLUSTER_ADD = closed(
    {
        "name": TEXT,
        "admin": ID_NAME,
        "site": ID_NAME,
        "vpc": VPC_CHOICE,
        "srvClusterTemplate": CHOSEN_TEMPLATE,
        "tags": TAGS,
        "servers": many(MEMBER),
    }
)
CLUSTER_UPDATE = closed({"tags": TAGS, "servers": many(MEMBER)})
VPC_UPDATE = closed({"name": TEXT, "adminTenant": ID_NAME, "guestTenant": many(ID_NAME), "tags": TAGS})
ACL_ADD = closed(
    {
        "name": TEXT,
        "action": {"enum": ["permit", "deny"]},
        "proto": {"enum": ["all", "ip", "tcp", "udp", "icmp", "icmpv6"]},
        "src_prefix": PREFIX,
        "src_port_from": PORT,
        "src_port_to": PORT,
        "src_port_group": {"type": ["integer", "null"]},
        "dst_prefix": PREFIX,
        "dst_port_from": PORT,
        "dst_port_to": PORT,
        "dst_port_group": {"type": ["integer", "null"]},
        "established": {"enum": [0, 1]},
        "icmp_type": {"type": "integer"},
        "reverse": {"enum": ["yes", "no"]},
        "comment": {"type": "string"},
        "valid_until": {"type": ["string", "null"]},
    },
    tenantsID=TEXT,
    vpc=ID_NAME,
)
ACL_REMOVE = closed({"id": {**many(NUMBER), "minItems": 1}})

BODIES: tuple[tuple[str, str, Schema], ...] = (
    ("POST", r"/api/auth", LOGIN),
    ("POST", r"/api/v2/server-cluster", CLUSTER_ADD),
    ("PUT", r"/api/v2/server-cluster/\d+", CLUSTER_UPDATE),
    ("PUT", r"/api/v2/vpc/\d+", VPC_UPDATE),
    ("POST", r"/api/acl", ACL_ADD),
    ("DELETE", r"/api/acl", ACL_REMOVE),
)
BODILESS = (
    ("DELETE", r"/api/v2/server-cluster/\d+"),
    ("DELETE", r"/api/v2/vpc/\d+"),
    ("DELETE", r"/api/v2/ipam/(allocation|subnet)/\d+"),
)


def violation(method: str, path: str, body: Any) -> str:
    """What is wrong with a request that changes something; "" when nothing is."""
    for verb, pattern, schema in BODIES:
        if verb == method and re.fullmatch(pattern, path):
            try:
                jsonschema.validate(body, schema)
            except jsonschema.ValidationError as error:
                return f"{method} {path}: {error.message} at {error.json_path}"
            return ""
    if any(verb == method and re.fullmatch(pattern, path) for verb, pattern in BODILESS):
        return "" if body is None else f"{method} {path}: takes no body"
    return f"{method} {path}: no client is known to ask this"
