"""Jobs as last seen, what changed, what was sent; and the models of this app's parts, found from here."""

from __future__ import annotations

from jobs.history.models import HistoryCursor, JobSteps, JobUse
from jobs.job_templates.models import JobTemplate, JobTemplateVersion
from jobs.limits.models import SlurmLimit
from jobs.models.event import JobEvent
from jobs.models.indexes import NAME_SORTED
from jobs.models.job import Job
from jobs.models.offer import Inventory, Partition
from jobs.models.rules import Rules, UserRule
from jobs.models.saved_view import SavedView
from jobs.models.states import ACTIVE_STATES, AT_WORK_STATES, ENDED_STATES, TELLING_ORDER, JobState
from jobs.models.submission import Submission, SubmissionState
from jobs.notify.models import JobNotice, JobSubscription

__all__ = [
    "ACTIVE_STATES",
    "AT_WORK_STATES",
    "ENDED_STATES",
    "NAME_SORTED",
    "TELLING_ORDER",
    "HistoryCursor",
    "Inventory",
    "Job",
    "JobEvent",
    "JobNotice",
    "JobState",
    "JobSteps",
    "JobSubscription",
    "JobTemplate",
    "JobTemplateVersion",
    "JobUse",
    "Partition",
    "Rules",
    "SavedView",
    "SlurmLimit",
    "Submission",
    "SubmissionState",
    "UserRule",
]
