"""The things that the steps of a stored plan would touch: one by one for operators, counted for tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from clusters.reasons import explain
from portal.lib.types import JSONDict

ACTIONS = {
    "create": gettext_noop("create"),
    "change": gettext_noop("change"),
    "remove": gettext_noop("remove"),
}


def things(step: Mapping[str, object]) -> JSONDict:
    """For operators: each thing with what becomes of it, their numbers, and why the step could not look."""
    found = [
        {**change, "word": _(ACTIONS.get(str(change["action"]), str(change["action"])))}
        for change in _changes(step)
    ]
    return {"things": found, "counted": counted(step), "unseen": _unseen(str(step.get("unseen") or ""))}


def numbers(step: Mapping[str, object]) -> dict[str, int]:
    """How many things a step creates, changes and removes, by action."""
    found = Counter(str(change["action"]) for change in _changes(step))
    return {action: found[action] for action in ACTIONS}


def counted(step: Mapping[str, object]) -> list[str]:
    """For everybody: how many things a step creates, changes and removes."""
    found = numbers(step)
    told = []
    if count := found["create"]:
        told.append(ngettext("creates %(count)d thing", "creates %(count)d things", count) % {"count": count})
    if count := found["change"]:
        told.append(ngettext("changes %(count)d thing", "changes %(count)d things", count) % {"count": count})
    if count := found["remove"]:
        told.append(ngettext("removes %(count)d thing", "removes %(count)d things", count) % {"count": count})
    return told


def _unseen(stored: str) -> str:
    """ "Reason: message" as a worker stored it, with the reason's sentence."""
    reason, _colon, message = stored.partition(": ")
    return f"{reason}: {explain(reason, message)}" if message else stored


def _changes(step: Mapping[str, object]) -> list[JSONDict]:
    found = step.get("changes")
    return found if isinstance(found, list) else []
