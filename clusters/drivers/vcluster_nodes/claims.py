"""Reads NodeClaims: which the cluster holds, how far they are, and which of them failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest
from clusters.kube.objects import READY, Readiness, condition_of
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import PermanentError

NODE_CLAIM: Final = Kind("management.loft.sh/v1", "NodeClaim", "nodeclaims")
NODE_TYPE: Final = Kind("management.loft.sh/v1", "NodeType", "nodetypes", namespaced=False)
# in the order of events: what is not there yet, in words
STAGES: Final = (
    ("Scheduled", "NodeNotScheduled", "no machine was chosen yet"),
    ("Provisioned", "NodeNotProvisioned", "its machine is being set up"),
    ("Joined", "NodeNotJoined", "it has not joined the cluster yet"),
)


def held(client: KubeClient, spec: ClusterSpec, namespace: str) -> tuple[Manifest, ...]:
    """All claims for the cluster, whoever made them; whole or an error."""
    found = client.list(NODE_CLAIM, namespace=namespace)
    return tuple(one for one in found if (one.get("spec") or {}).get("vClusterRef") == spec.name)


def progress(found: Manifest) -> Readiness:
    """Available, and joined: both are asked, since each alone is said too early."""
    name, status = found["metadata"]["name"], found.get("status") or {}
    for kind, reason, words in STAGES:
        condition = condition_of(found, kind)
        if condition is None or condition.get("status") != "True":
            return Readiness(False, reason, f"{name}: {words}.")
    if status.get("phase") != "Available":
        return Readiness(
            False, "NodeNotAvailable", f"{name} is {status.get('phase') or 'not looked at yet'}."
        )
    return READY


def failure(found: Iterable[Manifest]) -> PermanentError | None:
    """Claims that the Platform gave up. What it says of machines is for operators only."""
    failed = [one for one in found if _is_failed(one)]
    if not failed:
        return None
    said = [f"{one['metadata']['name']}: {_why(one)[1]}" for one in failed if _why(one)[1]]
    return PermanentError(
        "NodeFailed",
        f"The Platform could not give these nodes: {_named(failed)}.",
        hint=" ".join(["Look at the node provider, then retry.", *said])[:500],
    )


def facts(found: Iterable[Manifest]) -> Mapping[str, str]:
    """Which nodes the cluster holds, by claim and type, for the allocation; and those that failed."""
    every = sorted(found, key=lambda one: str(one["metadata"]["name"]))
    told = {
        "nodes": ",".join(f"{one['metadata']['name']}={one['spec'].get('typeRef', '')}" for one in every),
        "failed": _named(one for one in every if _is_failed(one)),
    }
    return {name: text for name, text in told.items() if text}


def _is_failed(found: Manifest) -> bool:
    return (found.get("status") or {}).get("phase") == "Failed"


def _named(failed: Iterable[Manifest]) -> str:
    return ", ".join(f"{one['metadata']['name']} ({_why(one)[0]})" for one in failed)


def _why(found: Manifest) -> tuple[str, str]:
    """Reason and message: of the first condition that is False, else of the whole."""
    wrong = next(filter(None, (_wrong(found, kind) for kind, _, _ in STAGES)), {})
    status = found["status"]
    reason = str(wrong.get("reason") or status.get("reason") or "Failed")
    return reason, str(wrong.get("message") or status.get("message") or "")


def _wrong(found: Manifest, kind: str) -> Manifest | None:
    condition = condition_of(found, kind)
    return condition if condition is not None and condition.get("status") == "False" else None
