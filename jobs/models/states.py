"""States of a job, and their orders."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class JobState(models.TextChoices):
    """Slurm's base states, and ours for jobs of which no result is known."""

    PENDING = "PENDING", _("Pending")
    RUNNING = "RUNNING", _("Running")
    SUSPENDED = "SUSPENDED", _("Suspended")
    COMPLETING = "COMPLETING", _("Completing")
    COMPLETED = "COMPLETED", _("Completed")
    CANCELLED = "CANCELLED", _("Cancelled")
    FAILED = "FAILED", _("Failed")
    TIMEOUT = "TIMEOUT", _("Time limit reached")
    NODE_FAIL = "NODE_FAIL", _("Node failed")
    PREEMPTED = "PREEMPTED", _("Preempted")
    BOOT_FAIL = "BOOT_FAIL", _("Boot failed")
    DEADLINE = "DEADLINE", _("Deadline reached")
    OUT_OF_MEMORY = "OUT_OF_MEMORY", _("Out of memory")
    ENDED = "ENDED", _("Ended, result not known")


ACTIVE_STATES = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING")
AT_WORK_STATES = ("RUNNING", "COMPLETING", "SUSPENDED")
ENDED_STATES = tuple(state.value for state in JobState if state.value not in ACTIVE_STATES)
# Of several tasks the most telling state: what is at work, what waits, then how they ended, the worst first.
TELLING_ORDER = (
    *("RUNNING", "COMPLETING", "SUSPENDED", "PENDING", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "FAILED"),
    *("TIMEOUT", "DEADLINE", "PREEMPTED", "CANCELLED", "ENDED", "COMPLETED"),
)
