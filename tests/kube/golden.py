"""Every manifest that a driver can send, as files to read: `python -m tests.kube.golden` writes them anew."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Manifest
from clusters.kube.objects import Wanted
from clusters.kube.text import to_yaml
from clusters.provisioning.steps import StepContext
from tests.contract.kube.driven import FIXED, Driven, every_driven, spec_of

FOLDER = Path(__file__).with_name("golden")
# in Kubernetes' own kinds: below these the names are the writer's, so none can be misspelt
OPEN = frozenset(
    {"annotations", "data", "hard", "labels", "limits", "matchLabels", "nodeSelector", "requests"}
)
Place = tuple[str | int, ...]


def _nobody(ctx: StepContext) -> KubeClient:
    raise AssertionError(f"golden files are made without a server ({ctx.spec.name})")


def wanted_of(driven: Driven) -> tuple[Wanted, ...]:
    """What the step sends for the one cluster of all golden files."""
    ctx = driven.before(None, StepContext(spec=spec_of(FIXED)))
    return driven.step(_nobody).batch(ctx).wanted


def path_of(driven: Driven) -> Path:
    """The file of a step in a site profile."""
    return FOLDER / f"{driven.id}.yaml"


def text_of(driven: Driven) -> str:
    """All objects, one document each, in the order of making."""
    return "".join(f"---\n{to_yaml(one.manifest)}" for one in wanted_of(driven))


def twins(manifest: Manifest, schema: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Manifest]]:
    """The object once for each field that the vendor names: path, the misspelt name, the twin.

    `schema` is the CRD's; without one the kind is Kubernetes' own.
    """
    for path in _fields(manifest, schema):
        twin: Any = copy.deepcopy(_plain(manifest))
        place = twin
        for step in path[:-1]:
            place = place[step]
        name = f"{path[-1]}{str(path[-1])[-1]}"
        place[name] = place.pop(path[-1])
        yield ".".join(map(str, path)), name, twin


def _fields(manifest: Manifest, schema: Mapping[str, Any] | None) -> Iterator[Place]:
    for name, value in manifest.items():
        if name == "metadata":
            yield from ((name, below) for below in value if below not in {"name", "namespace"})
        elif name not in {"apiVersion", "kind"}:
            yield (name,)
            if schema is None:
                yield from _named(value, (name,))
            else:
                yield from _listed(value, schema["properties"].get(name, {}), (name,))


def _named(value: Any, path: Place) -> Iterator[Place]:
    if isinstance(value, Mapping) and path[-1] not in OPEN:
        for name, below in value.items():
            yield (*path, name)
            yield from _named(below, (*path, name))
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _named(below, (*path, number))


def _listed(value: Any, schema: Mapping[str, Any], path: Place) -> Iterator[Place]:
    """Fields that the schema lists, and where nothing else may stand beside them."""
    if isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _listed(below, schema.get("items") or {}, (*path, number))
    elif isinstance(value, Mapping):
        listed = schema.get("properties") or {}
        is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
        for name, below in value.items():
            if name in listed and not is_open:
                yield (*path, name)
            inner = listed.get(name) or schema.get("additionalProperties") or {}
            yield from _listed(below, inner if isinstance(inner, Mapping) else {}, (*path, name))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(below) for name, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, list | tuple) else value


def main() -> int:
    """Write every file, and remove those of steps that are gone."""
    files = {path_of(driven): text_of(driven) for driven in every_driven()}
    for path in FOLDER.rglob("*.yaml"):
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
