"""What a step makes of what was seen: what is not as wanted, and whether what is there works."""

from __future__ import annotations

import datetime as dt
from typing import TypeAlias

from clusters.clients.kube.models import Manifest, Ref
from clusters.kube import marks
from clusters.kube.drift import differences
from clusters.kube.objects import READY, Readiness
from clusters.kube.sinks import Batch, Seen, deleting
from clusters.provisioning.steps import Difference
from portal.lib import clock

Trouble: TypeAlias = tuple[str, str] | None  # reason and message


def differences_of(batch: Batch, seen: Seen) -> tuple[Difference, ...]:
    """Every field that is not as wanted, every object that is missing or too much."""
    missing = [one.ref for one in batch.wanted if one.ref not in seen.ours]
    return (
        *(Difference(str(ref), "", "there", "not there") for ref in missing),
        *(
            difference
            for one in batch.wanted
            if one.ref in seen.ours
            for difference in differences(one, seen.ours[one.ref])
        ),
        *(Difference(str(ref), "", "not there", "there") for ref in seen.left_over(batch)),
    )


def trouble(batch: Batch, seen: Seen, live: Seen, found: tuple[Difference, ...]) -> Trouble:
    """Why what is there is not what is wanted; the most important reason."""
    missing = [one.ref for one in batch.wanted if one.ref not in seen.ours]
    return (
        _taken(seen)
        or _going(live)
        or _counted("ObjectsMissing", "Not there", missing)
        or _drifted(found)
        or _counted("LeftOver", "Not wanted any more", list(seen.left_over(batch)))
    )


def readiness(batch: Batch, seen: Seen, live: Seen) -> Readiness:
    """Whether all of it works. What only a repository holds so far does not."""
    for one in batch.wanted:
        found = live.ours.get(one.ref)
        if found is None or (live is not seen and differences(one, found)):
            return Readiness(False, "NotTakenYet", f"{one.ref} is committed, and not on the API server yet.")
        state = one.ready(found)
        if not state.ready:
            return state
    too_much = live.left_over(batch)
    if too_much:
        return Readiness(False, "NotPrunedYet", f"{too_much[0]} is still on the API server.")
    return READY


def _taken(seen: Seen) -> Trouble:
    if not seen.foreign:
        return None
    error = marks.name_taken(seen.foreign[0])
    return error.reason, error.message


def _going(seen: Seen) -> Trouble:
    going = [(ref, found) for ref, found in seen.ours.items() if deleting(found)]
    for ref, found in going:
        if finalizers := found["metadata"].get("finalizers"):
            return "Finalizer", f"{ref} is held by {', '.join(finalizers)} for {_age(found)}."
    return ("BeingRemoved", f"{going[0][0]} is being removed.") if going else None


def _counted(reason: str, words: str, refs: list[Ref]) -> Trouble:
    more = f" and {len(refs) - 1} more" if len(refs) > 1 else ""
    return (reason, f"{words}: {refs[0]}{more}.") if refs else None


def _drifted(found: tuple[Difference, ...]) -> Trouble:
    fields = [one for one in found if one.path]
    if not fields:
        return None
    first = f"{fields[0].thing}: {fields[0].path} is {fields[0].found}, wanted {fields[0].wanted}"
    return "Drift", f"{first}; and {len(fields) - 1} more." if len(fields) > 1 else f"{first}."


def _age(found: Manifest) -> str:
    since = dt.datetime.fromisoformat(found["metadata"]["deletionTimestamp"])
    minutes = max(int((clock.now() - since).total_seconds()) // 60, 0)
    if minutes < 1:
        return "less than a minute"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
