"""CRDs for the vCluster Platform's kinds, which has none: its API is aggregated, and closed.

Made from its published OpenAPI document. Unknown fields are refused wherever that lists properties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.kube import openapi

GROUP = "management.loft.sh"
COLLECTION = re.compile(rf"/apis/{re.escape(GROUP)}/v1/(namespaces/{{namespace}}/)?([a-z]+)(?:/{{name}})?")


@dataclass(frozen=True, slots=True)
class Stored:
    """A kind that the Platform keeps objects of."""

    kind: str
    plural: str
    namespaced: bool


def stored() -> list[Stored]:
    """Every kind that can be read by name and that the document defines."""
    kinds = {
        one["kind"].lower(): one["kind"]
        for body in openapi.document()["definitions"].values()
        for one in body.get("x-kubernetes-group-version-kind", ())
    }
    found: dict[str, bool] = {}
    for path in openapi.document()["x-paths-and-methods"]:
        match = COLLECTION.fullmatch(path)
        if match and path.endswith("{name}"):
            found[match[2]] = bool(match[1])
    return [
        Stored(kinds[_singular(plural)], plural, namespaced)
        for plural, namespaced in sorted(found.items())
        if _singular(plural) in kinds
    ]


def documents() -> Iterator[bytes]:
    """One CRD for each stored kind, as JSON."""
    for one in stored():
        yield json.dumps(crd(one)).encode()


def crd(one: Stored) -> dict[str, Any]:
    """The CRD of a kind."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": openapi.object_schema(one.kind)},
        "subresources": {"status": {}},
    }
    names = {"kind": one.kind, "listKind": f"{one.kind}List", "plural": one.plural}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{one.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if one.namespaced else "Cluster",
            "names": {**names, "singular": one.kind.lower()},
            "versions": [version],
        },
    }


def _singular(plural: str) -> str:
    return "self" if plural == "selves" else plural.removesuffix("s")
