"""The one table of what a status looks like: colour and word and icon, the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass

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
    "amber": "degraded stalled attention draining drained drift late maint absent",
    "red": "failed rejected refused timeout node_fail boot_fail deadline out_of_memory broken down error",
    "grey": "cancelled deleted gone ended preempted unknown expired revoked skipped off left",
}
WORDS = {
    "submitted": "Waiting for approval",
    "approved": "Being built",
    "provisioning": "Being built",
    "progressing": "In progress",
    "deleting": "Being removed",
    "removing": "Being removed",
    "deleted": "Removed",
    "gone": "Removed",
    "sending": "Being sent",
    "in_use": "In use",
    "wiping": "Being wiped",
    "timeout": "Time limit reached",
    "node_fail": "Node failed",
    "boot_fail": "Boot failed",
    "deadline": "Deadline reached",
    "attention": "Needs attention",
    "ended": "Ended, result not known",
    "late": "Not reachable",
    "absent": "Did not arrive",
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
    return Look(tone, icon, WORDS.get(key) or key.replace("_", " ").capitalize())
