"""The one table of what a status looks like: colour and word and icon, the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import pgettext_lazy as _

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
    "draft": _("status", "Draft"),
    "submitted": _("status", "Waiting for approval"),
    "pending": _("status", "Pending"),
    "waiting": _("status", "Waiting"),
    "suspended": _("status", "Suspended"),
    "paused": _("status", "Paused"),
    "open": _("status", "Open"),
    "queued": _("status", "Queued"),
    "invited": _("status", "Invited"),
    "reserved": _("status", "Reserved"),
    "requeued": _("status", "Requeued"),
    "held": _("status", "Held"),
    "approved": _("status", "Being built"),
    "provisioning": _("status", "Being built"),
    "progressing": _("status", "In progress"),
    "working": _("status", "Working"),
    "running": _("status", "Running"),
    "completing": _("status", "Completing"),
    "configuring": _("status", "Configuring"),
    "sending": _("status", "Being sent"),
    "checking": _("status", "Checking"),
    "wiping": _("status", "Being wiped"),
    "deleting": _("status", "Being removed"),
    "removing": _("status", "Being removed"),
    "allocated": _("status", "Allocated"),
    "mixed": _("status", "Mixed"),
    "in_use": _("status", "In use"),
    "planned": _("status", "Planned"),
    "ready": _("status", "Ready"),
    "fulfilled": _("status", "Fulfilled"),
    "completed": _("status", "Completed"),
    "good": _("status", "Good"),
    "accepted": _("status", "Accepted"),
    "free": _("status", "Free"),
    "idle": _("status", "Idle"),
    "active": _("status", "Active"),
    "up": _("status", "Up"),
    "current": _("status", "Current"),
    "degraded": _("status", "Degraded"),
    "stalled": _("status", "Stalled"),
    "attention": _("status", "Needs attention"),
    "draining": _("status", "Draining"),
    "drained": _("status", "Drained"),
    "drift": _("status", "Drift"),
    "drifted": _("status", "Drifted"),
    "late": _("status", "Not reachable"),
    "maint": _("status", "Maint"),
    "absent": _("status", "Did not arrive"),
    "failed": _("status", "Failed"),
    "rejected": _("status", "Rejected"),
    "refused": _("status", "Refused"),
    "timeout": _("status", "Time limit reached"),
    "node_fail": _("status", "Node failed"),
    "boot_fail": _("status", "Boot failed"),
    "deadline": _("status", "Deadline reached"),
    "out_of_memory": _("status", "Out of memory"),
    "broken": _("status", "Broken"),
    "down": _("status", "Down"),
    "error": _("status", "Error"),
    "cancelled": _("status", "Cancelled"),
    "deleted": _("status", "Removed"),
    "gone": _("status", "Removed"),
    "ended": _("status", "Ended, result not known"),
    "preempted": _("status", "Preempted"),
    "unknown": _("status", "Unknown"),
    "expired": _("status", "Expired"),
    "revoked": _("status", "Revoked"),
    "used": _("status", "Used"),
    "skipped": _("status", "Skipped"),
    "off": _("status", "Off"),
    "left": _("status", "Left"),
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


def look_of(status: object) -> Look:
    """The look of a status in any case; one that nobody listed is grey and shows its own word."""
    key = str(status or "unknown").strip().lower().replace(" ", "_").replace("-", "_")
    tone = _TONE_OF.get(key, "grey")
    icon = OTHER_ICONS.get(key) or (ICONS[tone] if key in _TONE_OF else "unknown")
    word = WORDS.get(key)
    return Look(tone, icon, str(word) if word else key.replace("_", " ").capitalize())
