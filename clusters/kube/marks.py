"""The labels by which we know our own objects, and refuse others' of the same name."""

from __future__ import annotations

from typing import Final

from clusters.clients.kube.models import Manifest, Ref
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

INSTALLATION: Final = "freehold.io/installation"
CLUSTER: Final = "freehold.io/cluster"
STEP: Final = "freehold.io/step"


def labels(spec: ClusterSpec, step: str) -> dict[str, str]:
    """What everything bears that a step makes for a cluster; as a selector it finds all of it."""
    return {INSTALLATION: spec.installation, CLUSTER: spec.id, STEP: step}


def marked(manifest: Manifest, spec: ClusterSpec, step: str) -> Manifest:
    """The manifest with our labels added."""
    meta = dict(manifest.get("metadata") or {})
    meta["labels"] = {**(meta.get("labels") or {}), **labels(spec, step)}
    return {**manifest, "metadata": meta}


def owned(manifest: Manifest, spec: ClusterSpec) -> bool:
    """Whether the object bears the mark of this cluster of this installation."""
    found = (manifest.get("metadata") or {}).get("labels") or {}
    return found.get(INSTALLATION) == spec.installation and found.get(CLUSTER) == spec.id


def name_taken(ref: Ref, where: str = "") -> PermanentError:
    """The refusal of an object that is not ours."""
    at = f" on {where}" if where else ""
    return PermanentError(
        "NameTaken",
        f"There is {ref}{at} already, and it is not this cluster's.",
        hint="See whose it is. Remove or rename it, or give it back its freehold.io labels if it is ours.",
    )
