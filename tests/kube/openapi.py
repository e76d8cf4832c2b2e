"""Turns definitions of an OpenAPI v2 document into structural schemas, as CRDs want them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

DOCUMENT = (
    Path(__file__).with_name("crds") / "vcluster-platform" / "management.loft.sh-v4.11.2-definitions.json"
)
REF = "#/definitions/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
EITHER = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# where the document's own words say less than the type does
KNOWN: Mapping[str, Mapping[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": EITHER,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": EITHER,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ANYTHING,
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": ANYTHING,
}
KEPT = ("type", "format", "enum", "required", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


@cache
def document() -> Mapping[str, Any]:
    """The vCluster Platform's definitions, and which paths and verbs it serves."""
    found: Mapping[str, Any] = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    return found


def definition_of(kind: str) -> str:
    """The name of the definition of a kind of management.loft.sh/v1."""
    (found,) = [
        name
        for name, body in document()["definitions"].items()
        if any(one["kind"] == kind for one in body.get("x-kubernetes-group-version-kind", ()))
    ]
    return str(found)


def schema_of(name: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """The structural schema of one definition; what refers to itself is open from there on."""
    if name in KNOWN:
        return dict(KNOWN[name])
    if name in above:
        return dict(ANYTHING)
    return _convert(document()["definitions"][name], (*above, name))


def object_schema(kind: str) -> dict[str, Any]:
    """The schema of a whole object; its metadata is the server's matter."""
    schema = schema_of(definition_of(kind))
    schema["properties"] = {**schema["properties"], "metadata": {"type": "object"}}
    return schema


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a JSON schema in which a field that is not listed is wrong, as in the Strict mode."""
    made = dict(schema)
    if "properties" in schema:
        made["properties"] = {name: strict(below) for name, below in schema["properties"].items()}
        made["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), Mapping):
            made[name] = strict(schema[name])
    return made


def _convert(node: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        return schema_of(str(node["$ref"]).removeprefix(REF), above)
    if node.get("format") == "int-or-string":
        return dict(EITHER)
    made = {name: node[name] for name in KEPT if name in node}
    if "properties" in node:
        made["type"] = "object"
        made["properties"] = {name: _convert(below, above) for name, below in node["properties"].items()}
    elif isinstance(node.get("additionalProperties"), Mapping):
        made["additionalProperties"] = _convert(node["additionalProperties"], above)
    elif node.get("type") == "object" or "type" not in node:
        return dict(ANYTHING)
    if "items" in node:
        made["items"] = _convert(node["items"], above)
        if kind := node.get("x-kubernetes-list-type"):
            made["x-kubernetes-list-type"] = kind
    return made
