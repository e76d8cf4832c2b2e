"""Finds out what became of submits whose answer was lost: by their mark, and never by trying again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Q

from clusters.models import Cluster, Phase
from jobs import live, words
from jobs.models import Job, Submission, SubmissionState
from portal.lib import clock
from tenants.live.topics import Topic, publish

# more than jobs.outside's SEND_WITHIN, a deadline, and the time to tell a dead token from a dead slurmctld
SENDER_DIED = dt.timedelta(seconds=75)
# slurmrestd may hold a submit so long before Slurm has it; one that hung reads it when it goes on
STILL_ON_THE_WAY = dt.timedelta(seconds=20)
FORGOTTEN = dt.timedelta(seconds=240)  # less than MinJobAge: until then a job that ended is still listed
SOUGHT_FOR = dt.timedelta(days=1)
CLOCKS = dt.timedelta(minutes=2)  # how far Slurm's clock may be from ours


def resolve_submissions(
    cluster: Cluster, *, looked_at: dt.datetime, complete: bool, answers_since: dt.datetime | None = None
) -> None:
    """After a look that began at `looked_at` was saved: settle what can be settled."""
    found = unsettled(cluster, looked_at=looked_at)
    settle(found, looked_at=looked_at, complete=complete, answers_since=answers_since)


def unsettled(cluster: Cluster, *, looked_at: dt.datetime) -> list[Submission]:
    """Submits whose answer did not come, and those of a day that were said not to have arrived.

    A submit that turns up late is still found.
    """
    sought = Q(state=SubmissionState.CHECKING) | Q(
        state__in=(SubmissionState.ABSENT, SubmissionState.UNKNOWN), sent_at__gte=looked_at - SOUGHT_FOR
    )
    dead = Q(state=SubmissionState.SENDING, sent_at__lt=looked_at - SENDER_DIED)
    return list(Submission.objects.filter(sought | dead, cluster=cluster))


def settle(
    open_submits: Sequence[Submission],
    *,
    looked_at: dt.datetime,
    complete: bool,
    answers_since: dt.datetime | None = None,
) -> None:
    """By the rows. `complete`: each job that Slurm had after `looked_at` is one of them.

    `answers_since`: when the cluster came back from its last silence, where there was one.
    """
    marked = _marked(open_submits)
    for submission in open_submits:
        found = _job_of(submission, marked.get(submission.mark, ()))
        if found is not None:
            _accept_found(submission, found)
        elif submission.state == SubmissionState.SENDING:
            _settle(submission, SubmissionState.CHECKING, words.PORTAL_STOPPED)
        elif submission.state == SubmissionState.CHECKING and complete:
            _settle_absence(submission, looked_at, answers_since or submission.sent_at)


def give_up_on_removed_clusters() -> None:
    """Nobody can look any more where the cluster is gone."""
    open_states = (SubmissionState.SENDING, SubmissionState.CHECKING)
    for submission in Submission.objects.filter(state__in=open_states, cluster__phase=Phase.DELETED):
        _settle(submission, SubmissionState.UNKNOWN, words.CLUSTER_REMOVED)


def _marked(open_submits: Sequence[Submission]) -> dict[str, list[Job]]:
    """Jobs with a mark of one of these, the first to be submitted first."""
    found: dict[str, list[Job]] = {}
    if open_submits:
        rows = Job.objects.filter(
            cluster_id=open_submits[0].cluster_id,
            mark__in=[one.mark for one in open_submits],
            submit_time__gte=min(one.created_at for one in open_submits) - CLOCKS,
        )
        for row in rows.order_by("submit_time", "slurm_job_id"):
            found.setdefault(row.mark, []).append(row)
    return found


def _job_of(submission: Submission, marked: Iterable[Job]) -> Job | None:
    """The job with the submit's mark, if user, name and submit time agree too: anyone may copy a mark."""
    name = submission.request.get("name")
    found = [
        row
        for row in marked
        if row.identity_id == submission.identity_id
        and row.submit_time >= submission.created_at - CLOCKS
        and (not name or row.name == name)
    ]
    # of an array the record that bears the array's own id is the one to show
    return next(
        (row for row in found if row.array_job_id in {None, row.slurm_job_id}), next(iter(found), None)
    )


def _accept_found(submission: Submission, job: Job) -> None:
    """The job is there after all."""
    with transaction.atomic():
        moved = Submission.objects.filter(pk=submission.pk, state=submission.state).update(
            state=SubmissionState.ACCEPTED,
            slurm_job_id=job.array_job_id or job.slurm_job_id,
            job=job,
            answered_at=clock.now(),
            message="",
        )
        if moved:
            _publish(submission)


def _settle_absence(submission: Submission, looked_at: dt.datetime, answers_since: dt.datetime) -> None:
    if looked_at - max(submission.sent_at, answers_since) < STILL_ON_THE_WAY:
        return
    if looked_at - submission.sent_at <= FORGOTTEN:
        _settle(submission, SubmissionState.ABSENT, words.DID_NOT_ARRIVE)
    else:
        _settle(submission, SubmissionState.UNKNOWN, words.NOT_SEEN_IN_TIME)


def _settle(submission: Submission, state: SubmissionState, message: str) -> None:
    with transaction.atomic():
        moved = Submission.objects.filter(
            pk=submission.pk, state=submission.state, sent_at=submission.sent_at
        ).update(state=state, message=message)
        if moved:
            _publish(submission)


def _publish(submission: Submission) -> None:
    publish(Topic(submission.tenant_id, live.SUBMISSION, submission.pk))
