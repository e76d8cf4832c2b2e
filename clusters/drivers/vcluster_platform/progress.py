"""How far an instance is, and whether the Platform gave up: phase and conditions in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from clusters.clients.kube.models import Manifest
from clusters.kube.objects import READY, Readiness
from portal.lib.errors import PermanentError

# nearly the order of events; what a release adds comes at the end
ORDER: Final = (
    "Scheduled",
    "TemplateResolved",
    "TemplateSynced",
    "SpaceSynced",
    "SpaceReady",
    "VirtualClusterDeployed",
    "VirtualClusterSynced",
    "VirtualClusterReady",
    "VirtualClusterOnline",
    "NodesProvisioned",
    "VirtualClusterAppsAndObjectsSynced",
    "ProjectSecretsSynced",
    "ArgoCDIntegrationSynced",
    "StacksSynced",
)
WORKS: Final = ("VirtualClusterReady", "VirtualClusterOnline")  # what makes a control plane usable
Condition = Mapping[str, Any]


def ready(found: Manifest) -> Readiness:
    """Ready, and the two conditions that say that the API server answers. Nodes are another step's."""
    status = found.get("status") or {}
    phase = status.get("phase") or ""
    if phase == "Sleeping":
        return Readiness(False, "ControlPlaneSleeping", "The control plane sleeps. Wake it on the Platform.")
    known = {str(one.get("type")): one for one in conditions(found)}
    works = all(_is_true(known.get(name)) for name in WORKS)
    if phase == "Ready" and works:
        return READY
    return Readiness(False, "ControlPlaneStarting", told(found))


def told(found: Manifest) -> str:
    """E.g. "5 of 12: VirtualClusterReady": how many are done, and the first that is not."""
    every = conditions(found)
    if not every:
        return "The Platform has not looked at it yet."
    done = sum(map(_is_true, every))
    first = next((one for one in every if not _is_true(one)), None)
    waits = str(first.get("type")) if first is not None else str((found.get("status") or {}).get("phase"))
    return f"{done} of {len(every)}: {waits}"


def failure(found: Manifest) -> PermanentError | None:
    """The Platform says that it will not get any further. Its own words are for operators only."""
    status = found.get("status") or {}
    broken = next((one for one in conditions(found) if _is_error(one)), None)
    if broken is None and status.get("phase") != "Failed":
        return None
    source = broken if broken is not None else status
    what = str(broken["type"]) if broken is not None else "as a whole"
    reason = str(source.get("reason") or "no reason given")
    words = str(source.get("message") or status.get("message") or "")
    return PermanentError(
        "ControlPlaneFailed",
        f"The Platform could not make the control plane: {what} ({reason}).",
        hint=f"See the instance on the Platform, then retry. {words}"[:500].strip(),
    )


def conditions(found: Manifest) -> list[Condition]:
    """In the order of events, whatever order they are listed in."""
    every = (found.get("status") or {}).get("conditions") or ()
    listed = [one for one in every if one.get("type") != "Ready"]  # the sum of the others
    return sorted(listed, key=_place)


def _place(one: Condition) -> tuple[int, str]:
    kind = str(one.get("type"))
    return (ORDER.index(kind) if kind in ORDER else len(ORDER), kind)


def _is_true(one: Condition | None) -> bool:
    return one is not None and one.get("status") == "True"


def _is_error(one: Condition) -> bool:
    return one.get("status") == "False" and one.get("severity") == "Error"
