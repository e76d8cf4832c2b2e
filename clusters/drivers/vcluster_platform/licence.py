"""What the Platform's licence allows, and what a template needs of it.

An unlicensed feature does not degrade: the control plane's pod crashes again and again. So a template that
the licence cannot serve is not offered. Names of features: loft-sh/admin-apis, definitions/features.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.errors import Forbidden
from clusters.clients.kube.models import Ref
from clusters.drivers.vcluster_platform import parameters
from clusters.drivers.vcluster_platform.kinds import LICENSE, TEMPLATE
from clusters.drivers.vcluster_platform.parameters import Template
from clusters.drivers.vcluster_platform.settings import PlatformSettings
from portal.lib.errors import PermanentError

NAME: Final = "license"  # the API serves it by name only, and there is one
USABLE: Final = frozenset({"active", "included"})  # "preview" and "hidden" are shown and not usable
QUOTAS: Final = "project-quotas"
VERSIONS: Final = "template-versioning"
# a key of the chart's values, as the Go-templated text has it, and the feature that it takes
KEYS: Final[Mapping[str, str]] = {
    "privateNodes": "vcp-distro-private-nodes",
    "vpn": "private-nodes-vpn",
    "autoNodes": "private-nodes-auto-nodes",
    "embedded": "vcp-distro-embedded-etcd",
    "argoCD": "argo-integration",
    "vnode": "vnode-runtime",
}
KEY = re.compile(r"^[ \t-]*([A-Za-z]+):(.*)$", re.MULTILINE)
OFF = re.compile(r"\{\s*enabled:\s*false\b|\[\s*\]|\{\s*\}|false\b")


@dataclass(frozen=True, slots=True)
class Offer:
    """One template; `hidden` says why it cannot be ordered, and is for operators."""

    name: str
    title: str
    hidden: str = ""


def features(client: KubeClient) -> frozenset[str] | None:
    """What may be used; None where the Platform does not tell, which is no permission and no ban."""
    try:
        found = client.get(Ref(LICENSE, NAME))
    except Forbidden:
        return None
    licence = ((found or {}).get("status") or {}).get("license")
    if not licence:
        return None
    return frozenset(
        str(feature.get("name"))
        for module in licence.get("modules") or ()
        for feature in module.get("features") or ()
        if feature.get("status") in USABLE
    )


def needed(template: Template, *, version: str = "") -> frozenset[str]:
    """The features that a template's values ask for, as far as its text shows; what is off asks nothing."""
    release = parameters.definition_of(template, version=version).get("helmRelease") or {}
    found = {KEYS[key] for key in _switched_on(str(release.get("values") or "")) if key in KEYS}
    return frozenset(found | ({VERSIONS} if version else set()))


def missing(template: Template, allowed: frozenset[str] | None, *, version: str = "") -> tuple[str, ...]:
    """What the template needs and the licence does not have; nothing where the licence is not known."""
    return () if allowed is None else tuple(sorted(needed(template, version=version) - allowed))


def offers(client: KubeClient, settings: PlatformSettings) -> tuple[Offer, ...]:
    """Every template of the Platform, with the reason why one cannot be ordered at this site."""
    allowed = features(client)
    found = client.list(TEMPLATE)
    return tuple(_offer(one, allowed, settings) for one in sorted(found, key=_name))


def _offer(template: Template, allowed: frozenset[str] | None, settings: PlatformSettings) -> Offer:
    version = settings.version if _name(template) == settings.template else ""
    title = str((template.get("spec") or {}).get("displayName") or _name(template))
    try:
        lacks = missing(template, allowed, version=version)
        left = parameters.unserved(template, version=version, fixed=settings.parameters.keys())
    except PermanentError as error:
        return Offer(_name(template), title, error.message)
    if lacks:
        return Offer(_name(template), title, f"The Platform's licence does not have {_listed(lacks)}.")
    if left:
        return Offer(_name(template), title, f"The site's settings do not give {_listed(left)}.")
    return Offer(_name(template), title)


def _switched_on(values: str) -> Iterator[str]:
    """Keys of a text that is YAML only once Go has filled it, so it is read line by line."""
    lines = [(match.start(1) - match.start(), match[1], match[2].strip()) for match in KEY.finditer(values)]
    for number, (depth, key, rest) in enumerate(lines):
        first = next(_below(lines[number + 1 :], depth), None)
        if not OFF.match(rest) and (first is None or first[1:] != ("enabled", "false")):
            yield key
            yield from re.findall(r"([A-Za-z]+):", rest)


def _below(lines: list[tuple[int, str, str]], depth: int) -> Iterator[tuple[int, str, str]]:
    for one in lines:
        if one[0] <= depth:
            return
        yield one


def _name(template: Template) -> str:
    return str(template["metadata"]["name"])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
