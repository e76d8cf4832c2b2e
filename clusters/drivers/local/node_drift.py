"""How a Node of a local control plane differs from what it should be, field by field that is ours.

What others set beside that is no difference, but for a taint: nothing would be scheduled there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.clients.kube.models import Manifest
from clusters.kube.drift import NOTHING
from clusters.kube.quantities import same_quantity
from clusters.provisioning.steps import Difference

THERE, NOT_THERE, GOING = "there", "not there", "being removed"
SIZES = ("capacity", "allocatable")


def differences(found: Manifest | None, wanted: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Of one node; without any, it is as wanted. `wanted` is the whole node as we send it."""
    thing = f"Node {wanted['metadata']['name']}"
    if found is None:
        return (Difference(thing, "", THERE, NOT_THERE),)
    if found["metadata"].get("deletionTimestamp"):
        return (Difference(thing, "", THERE, GOING),)
    pairs = (*_main(found, wanted), *_status(found, wanted), *_taints(found))
    return tuple(Difference(thing, *pair) for pair in pairs)


def too_much(name: str) -> Difference:
    """A node of ours that is wanted no longer."""
    return Difference(f"Node {name}", "", NOT_THERE, THERE)


Pairs = Iterator[tuple[str, str, str]]  # path, wanted, found


def _main(found: Manifest, wanted: Mapping[str, Any]) -> Pairs:
    labels = found["metadata"].get("labels") or {}
    for name, value in wanted["metadata"]["labels"].items():
        if labels.get(name) != value:
            yield f"metadata.labels[{name}]", value, str(labels.get(name, NOTHING))
    spec = found.get("spec") or {}
    for name, value in wanted["spec"].items():
        if spec.get(name) != value:
            yield f"spec.{name}", value, str(spec.get(name, NOTHING))


def _status(found: Manifest, wanted: Mapping[str, Any]) -> Pairs:
    """Sizes are compared as amounts: an API server answers 65536Mi as 64Gi."""
    status = found.get("status") or {}
    for part in SIZES:
        there, wish = status.get(part) or {}, wanted["status"][part]
        for name in sorted({*there, *wish}):
            left, right = wish.get(name, NOTHING), there.get(name, NOTHING)
            if left != right and not same_quantity(left, right):
                yield f"status.{part}.{name}", left, str(right)
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    (ready,) = wanted["status"]["conditions"]
    there = conditions.get(ready["type"]) or {}
    for name, value in ready.items():
        if there.get(name) != value:
            yield f"status.conditions[{ready['type']}].{name}", value, str(there.get(name, NOTHING))


def _taints(found: Manifest) -> Pairs:
    for taint in (found.get("spec") or {}).get("taints") or ():
        value = f"={taint['value']}" if taint.get("value") else ""
        yield f"spec.taints[{taint.get('key')}]", NOTHING, f"{taint.get('key')}{value}:{taint.get('effect')}"
