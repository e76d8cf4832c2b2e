"""Reads what a server answered. A tenant's server may be hostile: shapes are looked at before use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clusters.clients.kube import errors
from clusters.clients.kube.models import Kind, Manifest, Ref
from portal.lib.http import Answer


class Field(msgspec.Struct):
    """An entry of managedFields."""

    manager: str = ""
    operation: str = ""
    fields: dict[str, Any] = msgspec.field(default_factory=dict, name="fieldsV1")


class Meta(msgspec.Struct):
    """The parts of metadata that anything of ours reads."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion: str | None = msgspec.field(default=None, name="deletionTimestamp")
    managed: list[Field] | None = msgspec.field(default=None, name="managedFields")


class Body(msgspec.Struct):
    """Any object."""

    metadata: Meta
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


def decoded(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer within 2xx. Raises the refusal, or BadAnswer."""
    if not 200 <= answer.status < 300:
        raise errors.refusal(answer)
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.BadAnswer from error


def one(answer: Answer, ref: Ref) -> Manifest:
    """The very object that was asked for."""
    found = _checked(decoded(answer))
    meta = found["metadata"]
    told = (found.get("apiVersion"), found.get("kind"), meta["name"], meta.get("namespace", ""))
    if told != (ref.kind.api_version, ref.kind.kind, ref.name, ref.namespace):
        raise errors.BadAnswer("The API server answered with something else than the object.")
    return found


def items(page: Manifest, kind: Kind) -> Iterator[Manifest]:
    """The objects of one page of a list; each gets its apiVersion and kind, which servers leave out."""
    found = page.get("items")
    if page.get("kind") != f"{kind.kind}List" or not isinstance(found, list | None):
        raise errors.BadAnswer("The API server answered with something else than the list.")
    for item in found or ():
        yield {**_checked(item), "apiVersion": kind.api_version, "kind": kind.kind}


def _checked(found: Any) -> dict[str, Any]:
    try:
        msgspec.convert(found, Body)
    except msgspec.ValidationError as error:
        raise errors.BadAnswer("The API server answered with an object in no form of Kubernetes.") from error
    return dict(found)
