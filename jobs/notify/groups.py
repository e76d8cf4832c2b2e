"""Notices as people read them: the tasks of one array are one line with counts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from jobs.models import Job
from jobs.notify.models import Happening, JobNotice
from jobs.notify.noting import number_of
from jobs.words import outcome_of


@dataclass(slots=True)
class Group:
    """What happened to one job, array or het job. `job` is the one told of last."""

    job: Job
    at: dt.datetime  # of the latest
    counts: Counter[str] = field(default_factory=Counter)
    unseen: bool = False
    notices: list[JobNotice] = field(default_factory=list)

    @property
    def is_one(self) -> bool:
        """A single job: its state can be told in words."""
        return self.job.array_job_id is None and self.job.het_job_id is None

    @property
    def label(self) -> str:
        """The number as Slurm's tools print it."""
        return self.job.label if self.is_one else str(number_of(self.job))

    @property
    def page(self) -> str:
        """The name of the address that shows it."""
        return "job" if self.is_one else "job-tasks"

    @property
    def failed(self) -> bool:
        """Something in it failed."""
        return bool(self.counts[Happening.FAILED])

    @property
    def said(self) -> str:
        """What happened: "failed", or "3 tasks started, 1 failed" of an array."""
        if self.is_one:
            return str(Happening(self.notices[0].what).label)
        parts = [
            _("%(count)d %(what)s") % {"count": self.counts[what], "what": what.label}
            for what in Happening
            if self.counts[what]
        ]
        return _("of its tasks %(parts)s") % {"parts": ", ".join(parts)}

    @property
    def why(self) -> str:
        """How a single job ended, in a sentence; empty for others, and where a start is told."""
        is_end = self.is_one and self.notices[0].what != Happening.STARTED
        outcome = outcome_of(self.job) if is_end else None
        return str(outcome.what) if outcome else ""


def grouped(notices: Iterable[JobNotice]) -> list[Group]:
    """By job or array, in the order in which the first of each comes; the newest should come first."""
    groups: dict[tuple[object, int, dt.datetime], Group] = {}
    for notice in notices:
        job = notice.job
        key = (job.cluster_id, number_of(job), job.submit_time)
        group = groups.setdefault(key, Group(job, notice.at))
        group.counts[notice.what] += 1
        group.notices.append(notice)
        group.unseen = group.unseen or notice.seen_at is None
    return list(groups.values())
