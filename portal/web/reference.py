"""The API reference as plain rows, read from the OpenAPI document, for one template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from portal.lib.types import JSONDict

PREFIX = "/api/v1"
CHOICES = re.compile(r"(?:^|\n\n)\* `.*", re.DOTALL)  # drf-spectacular repeats the values of an enum in words
SAMPLES: Mapping[str, object] = {
    "name": "hello",
    "script": "#!/bin/bash\nhostname\n",
    "email": "rui@example.org",
    "confirm": "gpu-a",
    "role": "member",
    "counts": {"train": 3},
}
TAGS: Mapping[str, str] = {
    "audit": gettext_noop("Audit"),
    "clusters": gettext_noop("Clusters"),
    "jobs": gettext_noop("Jobs"),
    "orders": gettext_noop("Orders"),
    "people": gettext_noop("People"),
}
UUID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is: JSON's word, or the name of a type that is told of on the same page."""

    word: str
    link: str = ""  # the type's name
    around: str = ""  # "[]": a list; "{}": an object with free names; "page": a list's page
    values: tuple[str, ...] = ()
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a member of an object."""

    name: str
    kind: Kind
    place: str  # path, query, header; empty for a member
    required: bool
    text: SafeString
    default: str
    bounds: str  # of a number, of a text's length or of a list's
    counts: str  # what the bounds are of: "", "characters", "items"


@dataclass(frozen=True, slots=True)
class Answer:
    """One status, and what comes with it."""

    status: str
    kind: Kind | None
    text: SafeString

    @property
    def is_good(self) -> bool:
        return self.status < "400"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str  # after the prefix that all share
    text: SafeString
    parameters: tuple[Field, ...]
    fields: tuple[Field, ...]  # of the body
    answers: tuple[Answer, ...]
    curl: str


@dataclass(frozen=True, slots=True)
class Type:
    """An object that operations take or give."""

    name: str
    text: SafeString
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """All of it; operations by tag, in the order of the document."""

    text: SafeString
    groups: Mapping[str, tuple[Operation, ...]]
    types: tuple[Type, ...]

    @property
    def sections(self) -> list[tuple[str, str, tuple[Operation, ...]]]:
        """Tag, its word, and operations."""
        return [(tag, gettext(TAGS.get(tag, tag)), found) for tag, found in self.groups.items()]


def read(document: JSONDict, portal: str) -> Reference:
    """The rows of this document in the reader's language, its examples with the address of this portal."""
    reader = _Reader(document, portal)
    groups: dict[str, tuple[Operation, ...]] = {}
    for path, methods in document["paths"].items():
        for method, facts in methods.items():
            tag = facts["tags"][0]
            groups[tag] = (*groups.get(tag, ()), reader.operation(path, method, facts))
    return Reference(_told(document["info"]["description"]), groups, tuple(reader.types()))


class _Reader:
    def __init__(self, document: JSONDict, portal: str) -> None:
        self._schemas: JSONDict = document["components"]["schemas"]
        self._portal = portal
        self._linked: set[str] = set()

    def operation(self, path: str, method: str, facts: JSONDict) -> Operation:
        schema = _content(facts.get("requestBody", {}))
        order = {"path": 0, "header": 1, "query": 2}
        parameters = sorted(facts.get("parameters", ()), key=lambda one: order[one["in"]])
        return Operation(
            name=facts["operationId"],
            method=method.upper(),
            path=path.removeprefix(PREFIX),
            text=_told(facts["description"]),
            parameters=tuple(self._field(one, one["schema"], place=one["in"]) for one in parameters),
            fields=self._members(self._resolved(schema)) if schema else (),
            answers=tuple(self._answer(status, one) for status, one in facts["responses"].items()),
            curl=self._curl(path, method, parameters, schema),
        )

    def types(self) -> list[Type]:
        """Objects that something links to; asked for last. A whole body stands with its operation."""
        found = [
            Type(name, _told(schema.get("description", "")), self._members(schema))
            for name, schema in self._schemas.items()
            if "properties" in schema
        ]
        return [one for one in found if one.name in self._linked]

    def _answer(self, status: str, facts: JSONDict) -> Answer:
        schema = _content(facts)
        return Answer(status, self._kind(schema) if schema else None, _told(facts["description"]))

    def _members(self, schema: JSONDict) -> tuple[Field, ...]:
        needed = schema.get("required", ())
        return tuple(
            self._field({"name": name, "required": name in needed, **one}, one)
            for name, one in schema.get("properties", {}).items()
        )

    def _field(self, facts: JSONDict, schema: JSONDict, place: str = "") -> Field:
        default = schema.get("default")
        bounds, counts = _bounds(schema)
        return Field(
            name=facts["name"],
            kind=self._kind(schema),
            place=place,
            required=bool(facts.get("required")),
            text=_told(facts.get("description", "")),
            default="" if default is None else json.dumps(default),
            bounds=bounds,
            counts=counts,
        )

    def _kind(self, schema: JSONDict, around: str = "") -> Kind:
        nullable = bool(schema.get("nullable"))
        inner = self._resolved(schema)
        link = _name(schema)
        if "enum" in inner:
            values = tuple(str(value) for value in inner["enum"] if value is not None)
            return Kind("string", "", around, values, nullable)
        if link.endswith("Page"):
            link, around = _name(inner["properties"]["items"]["items"]), "page"
        if link:
            self._linked.add(link)
            return Kind(link, link, around, nullable=nullable)
        if inner.get("type") == "array":
            return self._kind(inner["items"], "[]")
        if free := inner.get("additionalProperties"):
            return self._kind(free if isinstance(free, dict) else {}, "{}")
        return Kind(inner.get("format") or inner.get("type", "object"), "", around, nullable=nullable)

    def _resolved(self, schema: JSONDict) -> JSONDict:
        name = _name(schema)
        return cast("JSONDict", self._schemas[name]) if name else schema

    def _curl(self, path: str, method: str, parameters: list[JSONDict], body: JSONDict) -> str:
        parts = ['curl -H "Authorization: Bearer $TOKEN"']
        if method not in {"get", "post"} or (method == "post" and not body):
            parts[0] += f" -X {method.upper()}"
        parts += [
            f'-H "{one["name"]}: KEY"' for one in parameters if one["in"] == "header" and one.get("required")
        ]
        if body:
            parts += ['-H "Content-Type: application/json"', f"-d '{json.dumps(self._sample('', body))}'"]
        address = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), path)
        return " \\\n  ".join([*parts, self._portal + address])

    def _sample(self, name: str, schema: JSONDict) -> object:
        inner = self._resolved(schema)
        if name in SAMPLES:
            return SAMPLES[name]
        if "enum" in inner:
            return inner["enum"][0]
        if "properties" in inner:
            wanted = inner.get("required") or list(inner["properties"])[:1]
            return {key: self._sample(key, inner["properties"][key]) for key in wanted}
        if inner.get("type") == "array":
            return [self._sample(name, inner["items"])]
        plain = {"integer": max(1, inner.get("minimum", 1)), "boolean": True}
        return plain.get(inner.get("type", ""), UUID if inner.get("format") == "uuid" else "text")


def _content(facts: JSONDict) -> JSONDict:
    """The schema of a body or of an answer; empty where there is none."""
    for content in facts.get("content", {}).values():
        return cast("JSONDict", content["schema"])
    return {}


def _name(schema: JSONDict) -> str:
    """The type that a schema refers to, through the wrapper that drf-spectacular puts around a remark."""
    referred = schema.get("$ref") or next((one.get("$ref", "") for one in schema.get("allOf", ())), "")
    return str(referred).rpartition("/")[2]


def _bounds(schema: JSONDict) -> tuple[str, str]:
    for least, most, counts in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", "characters"),
        ("minItems", "maxItems", "items"),
    ):
        if most in schema:
            lowest = schema.get(least, 0)
            told = f"\u2264 {schema[most]}" if counts and lowest < 2 else f"{lowest}\N{EN DASH}{schema[most]}"
            return told, counts
    return "", ""


def _told(text: str) -> SafeString:
    """A remark with `names` set as code; without the values of an enum, which stand beside it."""
    plain = CHOICES.sub("", text)
    parts = re.split(r"`([^`]+)`", gettext(plain) if plain else "")
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<code>{}</code>", part) if number % 2 else conditional_escape(part),)
            for number, part in enumerate(parts)
        ),
    )
