"""What can be done to a job that was submitted: the words, who may, and when it makes sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy, pgettext_lazy

from clusters.models import Cluster
from clusters.services import consoles
from jobs.models import Job, JobState
from jobs.services.actions import may_act
from portal.lib.types import Words
from tenants.actor import Actor
from tenants.rights import Action, may

CANCEL: Final = "cancel"
CHANGE: Final = "change"
# what kill(1) knows and a job may want to hear; without one Slurm ends the job
SIGNALS: Final = ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "CONT", "STOP", "KILL")
_RUNS: Final = frozenset({JobState.RUNNING, JobState.SUSPENDED})
_OPEN: Final = _RUNS | {JobState.PENDING}


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to do. `question`, `done` and `effect` are for people; {job} is the job's id."""

    name: str
    verb: str  # in the audit trail
    title: Words
    question: Words
    many: Words  # the question about several, with their count
    done: Words
    effect: Words
    states: frozenset[str]
    by_console: bool = False
    as_administrator: bool = False
    danger: bool = False


ACTS: Final[Mapping[str, Act]] = {
    act.name: act
    for act in (
        Act(
            CANCEL,
            "job.cancelled",
            gettext_lazy("Cancel"),
            gettext_lazy("Cancel job {job}?"),
            ngettext_lazy("Cancel %(count)d job?", "Cancel these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} is being cancelled."),
            gettext_lazy("What it has written so far stays."),
            frozenset(_OPEN),
            danger=True,
        ),
        Act(
            "hold",
            "job.held",
            gettext_lazy("Hold"),
            gettext_lazy("Hold job {job}?"),
            ngettext_lazy("Hold %(count)d job?", "Hold these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} is held: it does not start until it is released."),
            gettext_lazy("It keeps its place in the queue and does not start until it is released."),
            frozenset({JobState.PENDING}),
        ),
        Act(
            "release",
            "job.released",
            pgettext_lazy("act on a job", "Release"),
            gettext_lazy("Release job {job}?"),
            ngettext_lazy("Release %(count)d job?", "Release these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} is released."),
            gettext_lazy("It starts when its turn comes."),
            frozenset({JobState.PENDING}),
        ),
        Act(
            CHANGE,
            "job.changed",
            gettext_lazy("Change"),
            gettext_lazy("Change job {job}"),
            ngettext_lazy("Change %(count)d job?", "Change these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} was changed."),
            "",
            frozenset(_OPEN),
        ),
        Act(
            "requeue",
            "job.requeued",
            gettext_lazy("Requeue"),
            gettext_lazy("Requeue job {job}?"),
            ngettext_lazy("Requeue %(count)d job?", "Requeue these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} goes back into the queue."),
            gettext_lazy("It is ended now and starts again from the beginning when its turn comes."),
            _RUNS,
            by_console=True,
            danger=True,
        ),
        Act(
            "suspend",
            "job.suspended",
            pgettext_lazy("act on a job", "Suspend"),
            gettext_lazy("Suspend job {job}?"),
            ngettext_lazy("Suspend %(count)d job?", "Suspend these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} is being suspended."),
            gettext_lazy("It stops where it is. Its memory stays taken, and its time limit does not run on."),
            frozenset({JobState.RUNNING}),
            by_console=True,
            as_administrator=True,
        ),
        Act(
            "resume",
            "job.resumed",
            pgettext_lazy("act on a job", "Resume"),
            gettext_lazy("Resume job {job}?"),
            ngettext_lazy("Resume %(count)d job?", "Resume these %(count)d jobs?", "count"),
            gettext_lazy("Job {job} goes on."),
            gettext_lazy("It goes on where it stopped."),
            frozenset({JobState.SUSPENDED}),
            by_console=True,
            as_administrator=True,
        ),
        Act(
            "top",
            "job.put_first",
            gettext_lazy("Put first"),
            gettext_lazy("Put job {job} first?"),
            ngettext_lazy("Put %(count)d job first?", "Put these %(count)d jobs first?", "count"),
            gettext_lazy("Job {job} comes before the other waiting jobs of its owner."),
            gettext_lazy("It comes before its owner's other waiting jobs. Jobs of others are not affected."),
            frozenset({JobState.PENDING}),
            by_console=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Offer:
    """An act on one job, or why it cannot be offered."""

    act: Act
    allowed: bool
    why: str = ""


def offers(actor: Actor, job: Job) -> list[Offer]:
    """All acts that make sense in the job's state, for a role that may; each allowed, or with why not.

    A job that ended, or that nobody of the tenant submitted, has none.
    """
    if not may_act(actor, job) or job.identity_id is None:
        return []
    fitting = [act for act in ACTS.values() if job.state in act.states]
    return [offer for offer in _offers(actor, job.cluster, fitting) if _suits(offer.act, job)]


def many_offers(actor: Actor, cluster: Cluster) -> list[Offer]:
    """Acts for a selection of a cluster's jobs; which of them can be done to which job is seen then."""
    if not may(actor, Action.ACT_ON_OWN_JOB):
        return []
    return _offers(actor, cluster, [act for act in ACTS.values() if act.name != CHANGE])


def why_not(actor: Actor, cluster: Cluster, act: Act, *, absent: str | None = None) -> str:
    """Why this actor cannot do it in this cluster, whatever the job; "" if it can be tried.

    `absent` is why the cluster has no console, where that is known already.
    """
    if act.as_administrator and not may(actor, Action.ACT_ON_ANY_JOB):
        return _("Only the tenant's admins may do this.")
    if act.by_console and (why := consoles.why_absent(cluster) if absent is None else absent):
        return why
    if act.name == "top" and not consoles.may_top(cluster.site):
        return _("This site does not let members reorder their jobs.")
    return ""


def ends_also(job: Job, *, whole: bool = False) -> str:
    """What else an act on this job touches; shown before it is confirmed. "" for the job alone.

    `whole`: in a list, where a row stands for all of its array.
    """
    if job.het_job_id:
        told = _("This is a part of heterogeneous job %(job)d: it goes for the whole set.")
        return told % {"job": job.het_job_id}
    if job.is_folded or (whole and job.group_states):
        told = _("This goes for the whole array %(array)d: tasks that wait and tasks that run.")
        return told % {"array": job.array_job_id}
    if job.array_job_id:
        told = _("Only task %(task)d of array %(array)d is meant.")
        return told % {"task": job.array_task_id, "array": job.array_job_id}
    return ""


def _offers(actor: Actor, cluster: Cluster, acts: list[Act]) -> list[Offer]:
    found = []
    absent = consoles.why_absent(cluster) if any(act.by_console for act in acts) else ""
    for act in acts:
        why = why_not(actor, cluster, act, absent=absent)
        if not (why and act.as_administrator and not may(actor, Action.ACT_ON_ANY_JOB)):
            found.append(Offer(act, not why, why))
    return found


def _suits(act: Act, job: Job) -> bool:
    held = job.reason.startswith("JobHeld")
    return {"hold": not held, "release": held}.get(act.name, True)
