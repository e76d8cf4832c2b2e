"""The one table of what a status looks like: colour and word and icon, the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import pgettext_lazy

ICONS = {
    "neutral": "wait",
    "blue": "work",
    "green": "good",
    "amber": "warn",
    "red": "fail",
    "grey": "ended",
}
# Lower case; the words of orders, clusters, steps, nodes, machines, submissions, invitations and jobs.
TONES = {
    "neutral": "draft submitted pending waiting suspended paused open queued invited reserved requeued held",
    "blue": "approved provisioning progressing working running completing configuring sending checking "
    "wiping deleting removing allocated mixed in_use planned",
    "green": "ready fulfilled completed good accepted free idle active up current",
    "amber": "degraded stalled attention draining drained drift drifted late maint absent",
    "red": "failed rejected refused timeout node_fail boot_fail deadline out_of_memory broken down error",
    "grey": "cancelled deleted gone ended preempted unknown expired revoked used skipped off left",
}
WORDS = {
    "draft": pgettext_lazy("status", "Draft"),
    "submitted": pgettext_lazy("status", "Waiting for approval"),
    "pending": pgettext_lazy("status", "Pending"),
    "waiting": pgettext_lazy("status", "Waiting"),
    "suspended": pgettext_lazy("status", "Suspended"),
    "paused": pgettext_lazy("status", "Paused"),
    "open": pgettext_lazy("status", "Open"),
    "queued": pgettext_lazy("status", "Queued"),
    "invited": pgettext_lazy("status", "Invited"),
    "reserved": pgettext_lazy("status", "Reserved"),
    "requeued": pgettext_lazy("status", "Requeued"),
    "held": pgettext_lazy("status", "Held"),
    "approved": pgettext_lazy("status", "Being built"),
    "provisioning": pgettext_lazy("status", "Being built"),
    "progressing": pgettext_lazy("status", "In progress"),
    "working": pgettext_lazy("status", "Working"),
    "running": pgettext_lazy("status", "Running"),
    "completing": pgettext_lazy("status", "Completing"),
    "configuring": pgettext_lazy("status", "Configuring"),
    "sending": pgettext_lazy("status", "Being sent"),
    "checking": pgettext_lazy("status", "Checking"),
    "wiping": pgettext_lazy("status", "Being wiped"),
    "deleting": pgettext_lazy("status", "Being removed"),
    "removing": pgettext_lazy("status", "Being removed"),
    "allocated": pgettext_lazy("status", "Allocated"),
    "mixed": pgettext_lazy("status", "Mixed"),
    "in_use": pgettext_lazy("status", "In use"),
    "planned": pgettext_lazy("status", "Planned"),
    "ready": pgettext_lazy("status", "Ready"),
    "fulfilled": pgettext_lazy("status", "Fulfilled"),
    "completed": pgettext_lazy("status", "Completed"),
    "good": pgettext_lazy("status", "Good"),
    "accepted": pgettext_lazy("status", "Accepted"),
    "free": pgettext_lazy("status", "Free"),
    "idle": pgettext_lazy("status", "Idle"),
    "active": pgettext_lazy("status", "Active"),
    "up": pgettext_lazy("status", "Up"),
    "current": pgettext_lazy("status", "Current"),
    "degraded": pgettext_lazy("status", "Degraded"),
    "stalled": pgettext_lazy("status", "Stalled"),
    "attention": pgettext_lazy("status", "Needs attention"),
    "draining": pgettext_lazy("status", "Draining"),
    "drained": pgettext_lazy("status", "Drained"),
    "drift": pgettext_lazy("status", "Drift"),
    "drifted": pgettext_lazy("status", "Drifted"),
    "late": pgettext_lazy("status", "Not reachable"),
    "maint": pgettext_lazy("status", "Maint"),
    "absent": pgettext_lazy("status", "Did not arrive"),
    "failed": pgettext_lazy("status", "Failed"),
    "rejected": pgettext_lazy("status", "Rejected"),
    "refused": pgettext_lazy("status", "Refused"),
    "timeout": pgettext_lazy("status", "Time limit reached"),
    "node_fail": pgettext_lazy("status", "Node failed"),
    "boot_fail": pgettext_lazy("status", "Boot failed"),
    "deadline": pgettext_lazy("status", "Deadline reached"),
    "out_of_memory": pgettext_lazy("status", "Out of memory"),
    "broken": pgettext_lazy("status", "Broken"),
    "down": pgettext_lazy("status", "Down"),
    "error": pgettext_lazy("status", "Error"),
    "cancelled": pgettext_lazy("status", "Cancelled"),
    "deleted": pgettext_lazy("status", "Removed"),
    "gone": pgettext_lazy("status", "Removed"),
    "ended": pgettext_lazy("status", "Ended, result not known"),
    "preempted": pgettext_lazy("status", "Preempted"),
    "unknown": pgettext_lazy("status", "Unknown"),
    "expired": pgettext_lazy("status", "Expired"),
    "revoked": pgettext_lazy("status", "Revoked"),
    "used": pgettext_lazy("status", "Used"),
    "skipped": pgettext_lazy("status", "Skipped"),
    "off": pgettext_lazy("status", "Off"),
    "left": pgettext_lazy("status", "Left"),
}
OTHER_ICONS = {
    "unknown": "unknown",
    "ended": "unknown",
    "paused": "pause",
    "suspended": "pause",
    "late": "offline",
}


@dataclass(frozen=True, slots=True)
class Look:
    """How one status is shown."""

    tone: str
    icon: str
    word: str


_TONE_OF = {status: tone for tone, statuses in TONES.items() for status in statuses.split()}


def _of_node(state: str) -> str:
    """What matters most of a node's state and flags: "idle+drain" is drained, "mixed+planned" is mixed."""
    base, *flags = state.split("+")
    if base == "down":
        return base
    if "not_responding" in flags:
        return "late"
    if "drain" in flags:
        return "drained" if base == "idle" else "draining"
    return "maint" if "maintenance" in flags else base


def look_of(status: object) -> Look:
    """The look of a status in any case; one that nobody listed is grey and shows its own word."""
    key = str(status or "unknown").strip().lower().replace(" ", "_").replace("-", "_")
    if "+" in key:
        key = _of_node(key)
    tone = _TONE_OF.get(key, "grey")
    icon = OTHER_ICONS.get(key) or (ICONS[tone] if key in _TONE_OF else "unknown")
    word = WORDS.get(key)
    return Look(tone, icon, str(word) if word else key.replace("_", " ").capitalize())
