"""What a site says about its Netris controller: the section "netris" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

from clusters.clients.netris.models import AclAction
from portal.lib.errors import PermanentError

SECTION = "netris"
PROTOCOLS = frozenset({"all", "ip", "tcp", "udp", "icmp"})
RULE_NAME = re.compile(r"[a-z][a-z0-9-]{0,20}")
KNOWN = frozenset(
    {"url", "user", "site", "tenant", "template", "ca_file", "gateways", "subnet_length", "acl_vpc", "acls"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """An ACL that every cluster of the site gets, from its own prefix to a destination."""

    name: str
    action: AclAction
    protocol: str
    destination: IPv4Network
    ports: tuple[int, int] = (1, 65535)


@dataclass(frozen=True, slots=True)
class NetrisSettings:
    """Validated; the password is no setting, it is the site's secret `netris-password`."""

    url: str
    user: str
    site: str  # the site's name in the controller
    tenant: str  # Netris' own owner of what is made, not a tenant of ours
    template: str  # name of the server cluster template
    ca_file: str | None = None  # authorities for the controller's certificate; none: the system's
    gateways: bool = True  # the controller takes gateways per server cluster (ipv4Gateways)
    subnet_length: int = 24  # of V-Nets whose template does not say
    acl_vpc: bool = False  # the controller's ACLs take a VPC
    acls: tuple[Rule, ...] = ()

    @classmethod
    def from_site(cls, settings: Mapping[str, object]) -> NetrisSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = settings.get(SECTION)
        if not isinstance(section, Mapping):
            raise _bad(SECTION, "is missing")
        if unknown := sorted(set(map(str, section)) - KNOWN):
            raise _bad(unknown[0], "is not known")
        rules = section.get("acls", [])
        if not isinstance(rules, list):
            raise _bad("acls", "is no list")
        found = tuple(_rule(rule, f"acls.{place}") for place, rule in enumerate(rules))
        if len({rule.name for rule in found}) != len(found):
            raise _bad("acls", "names a rule twice")
        return cls(
            url=_text(section, "url"),
            user=_text(section, "user"),
            site=_text(section, "site"),
            tenant=_text(section, "tenant"),
            template=_text(section, "template"),
            ca_file=_text(section, "ca_file") if section.get("ca_file") else None,
            gateways=_flag(section, "gateways", default=True),
            subnet_length=_whole(section, "subnet_length", 24, between=(8, 30)),
            acl_vpc=_flag(section, "acl_vpc", default=False),
            acls=found,
        )


def _rule(rule: object, key: str) -> Rule:
    if not isinstance(rule, Mapping):
        raise _bad(key, "is no rule")
    if RULE_NAME.fullmatch(name := _text(rule, "name", key)) is None or name == "own":
        raise _bad(f"{key}.name", "is no short name of small letters, digits and hyphens, or is `own`")
    if (protocol := str(rule.get("protocol", "all"))) not in PROTOCOLS:
        raise _bad(f"{key}.protocol", f"is none of {', '.join(sorted(PROTOCOLS))}")
    return Rule(name, _action(rule, key), protocol, _network(rule, key), _ports(rule, key, protocol))


def _action(rule: Mapping[str, object], key: str) -> AclAction:
    match rule.get("action"):
        case "permit":
            return "permit"
        case "deny":
            return "deny"
    raise _bad(f"{key}.action", "is neither permit nor deny")


def _network(rule: Mapping[str, object], key: str) -> IPv4Network:
    try:
        return IPv4Network(_text(rule, "destination", key))
    except ValueError:
        raise _bad(f"{key}.destination", "is no IPv4 prefix") from None


def _ports(rule: Mapping[str, object], key: str, protocol: str) -> tuple[int, int]:
    if "ports" not in rule:
        return (1, 65535)
    first, _, last = str(rule["ports"]).partition("-")
    try:
        ports = (int(first), int(last or first))
    except ValueError:
        ports = (0, 0)
    if protocol not in {"tcp", "udp"} or not 1 <= ports[0] <= ports[1] <= 65535:
        raise _bad(f"{key}.ports", "are no ports of tcp or udp, as in 443 or 8000-8080")
    return ports


def _text(section: Mapping[str, object], key: str, within: str = "") -> str:
    value = section.get(key)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise _bad(f"{within}.{key}".strip("."), "is missing or no text")
    return value.strip()


def _flag(section: Mapping[str, object], key: str, *, default: bool) -> bool:
    value = section.get(key, default)
    if not isinstance(value, bool):
        raise _bad(key, "is neither true nor false")
    return value


def _whole(section: Mapping[str, object], key: str, default: int, *, between: tuple[int, int]) -> int:
    value = section.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not between[0] <= value <= between[1]:
        raise _bad(key, f"is no whole number from {between[0]} to {between[1]}")
    return value


def _bad(key: str, why: str) -> PermanentError:
    place = key if key == SECTION else f"{SECTION}.{key}"
    return PermanentError(
        "BadSiteSettings",
        f"The site's setting {place} {why}.",
        hint="Correct the settings of the site; nothing was changed outside.",
    )
