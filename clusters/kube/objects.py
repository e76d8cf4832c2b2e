"""What a step wants to be there, and what it means for it to work."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.clients.kube.models import Kind, Manifest, Ref, ref_of
from clusters.kube import kinds


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an object works; if not, why, in a CamelCase word and a sentence."""

    ready: bool
    reason: str = ""
    message: str = ""


READY = Readiness(ready=True)
ReadyWhen = Callable[[Manifest], Readiness]


def always(_: Manifest) -> Readiness:
    """For objects that work by being there."""
    return READY


@dataclass(frozen=True, slots=True)
class Wanted:
    """One object, as we send it, and the judge of what comes back.

    `secret` names paths below which values are told to nobody, e.g. ("spec.parameters",); those of a
    Secret are hidden anyway. `kept` leaves the object there when the cluster goes (e.g. accounting data).
    """

    kind: Kind
    manifest: Manifest = field(repr=False)
    ready: ReadyWhen = always
    secret: tuple[str, ...] = ()
    kept: bool = False

    @property
    def ref(self) -> Ref:
        """Its name."""
        return ref_of(self.manifest, self.kind)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Paths whose values are secret."""
        return (*self.secret, "data", "stringData") if self.kind == kinds.SECRET else self.secret


def manifest(
    kind: Kind, name: str, body: Mapping[str, Any], *, namespace: str = "", **meta: Mapping[str, str]
) -> Manifest:
    """An object; `meta` takes labels and annotations."""
    where = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, **where, **{key: dict(value) for key, value in meta.items() if value}},
        **body,
    }


def namespace(name: str, *, labels: Mapping[str, str] | None = None, kept: bool = False) -> Wanted:
    """A namespace."""
    body = manifest(kinds.NAMESPACE, name, {}, labels=labels or {})
    return Wanted(kinds.NAMESPACE, body, ready=namespace_ready, kept=kept)


def secret(
    name: str,
    values: Mapping[str, bytes],
    *,
    namespace: str,
    immutable: bool = False,
    type: str = "Opaque",  # noqa: A002  # Kubernetes' word
    labels: Mapping[str, str] | None = None,
) -> Wanted:
    """A Secret. As `data`: what `stringData` writes cannot be read back, so drift would go unseen."""
    body: dict[str, Any] = {"type": type, "data": {key: coded(value) for key, value in values.items()}}
    if immutable:
        body["immutable"] = True
    return Wanted(kinds.SECRET, manifest(kinds.SECRET, name, body, namespace=namespace, labels=labels or {}))


def config_map(
    name: str, values: Mapping[str, str], *, namespace: str, labels: Mapping[str, str] | None = None
) -> Wanted:
    """A ConfigMap."""
    body = manifest(kinds.CONFIG_MAP, name, {"data": dict(values)}, namespace=namespace, labels=labels or {})
    return Wanted(kinds.CONFIG_MAP, body)


def coded(value: bytes) -> str:
    """As the values of a Secret's `data` are written."""
    return base64.b64encode(value).decode("ascii")


# -- when things of Kubernetes itself work


def namespace_ready(found: Manifest) -> Readiness:
    """Not while it is being deleted."""
    phase = (found.get("status") or {}).get("phase", "Active")
    return READY if phase == "Active" else Readiness(False, "NamespaceEnding", f"The namespace is {phase}.")


def replicas_ready(found: Manifest) -> Readiness:
    """A Deployment or StatefulSet: the controller saw this generation, and all replicas are there."""
    if not is_current(found):
        return Readiness(False, "NotSeenYet", f"{_title(found)} was not looked at by its controller yet.")
    wanted = int((found.get("spec") or {}).get("replicas", 1))
    status = found.get("status") or {}
    counts = [int(status.get(name) or 0) for name in ("readyReplicas", "updatedReplicas")]
    if min(counts) >= wanted:
        return READY
    return Readiness(False, "ReplicasNotReady", f"{_title(found)}: {min(counts)} of {wanted} replicas ready.")


def condition_ready(type: str = "Ready") -> ReadyWhen:  # noqa: A002  # Kubernetes' word
    """True once the condition is True for the generation that we see."""

    def judge(found: Manifest) -> Readiness:
        condition = condition_of(found, type)
        if condition is None or not is_current(found, condition):
            return Readiness(False, "NotSeenYet", f"{_title(found)} has no condition {type} yet.")
        if condition.get("status") == "True":
            return READY
        reason = str(condition.get("reason") or f"Not{type}")
        return Readiness(False, reason, f"{_title(found)}: {condition.get('message') or reason}"[:300])

    return judge


def condition_of(found: Manifest, type: str) -> Manifest | None:  # noqa: A002  # Kubernetes' word
    """One condition of an object's status."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == type), None)


def is_current(found: Manifest, condition: Manifest | None = None) -> bool:
    """Whether the status speaks of the spec as it is; a status that does not say counts as current."""
    wanted = (found.get("metadata") or {}).get("generation")
    said = (condition or {}).get("observedGeneration") or (found.get("status") or {}).get(
        "observedGeneration"
    )
    return said is None or wanted is None or int(said) >= int(wanted)


def _title(found: Manifest) -> str:
    return f"{found.get('kind')} {(found.get('metadata') or {}).get('name')}"
