"""Notes, in the transaction of the observer's change, who is to be told of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from clusters.clients.slurmrest.models import FINISHED_STATES
from jobs.models import ENDED_STATES, Job, JobEvent, JobState
from jobs.notify.models import Happening, JobNotice, JobSubscription
from tenants.models import Membership

FAILURES = FINISHED_STATES - {JobState.COMPLETED, JobState.CANCELLED}


def note(events: Iterable[JobEvent]) -> None:
    """Write a notice for each happening that somebody wants to hear of. Needs an open transaction.

    Costs one query while nobody of the jobs' owners subscribed; what was noted before is not noted again.
    """
    told = [
        (event, event.job.owner_id, what)
        for event in events
        if event.job.owner_id is not None and (what := happening(event.state)) is not None
    ]
    if not told:
        return
    wishes = _Wishes([event.job for event, _, _ in told])
    JobNotice.objects.bulk_create(
        [
            JobNotice(
                tenant_id=event.job.tenant_id,
                user_id=owner,
                job=event.job,
                what=what,
                restarts=event.job.restarts,
                at=event.at,
                in_browser=wish.in_browser,
                by_mail=wish.by_mail,
            )
            for event, owner, what in told
            if (wish := wishes.of(event.job)) is not None
            and wish.wants(what)
            and event.at >= wish.since
            and (wish.in_browser or wish.by_mail)
        ],
        ignore_conflicts=True,
    )


def happening(state: str) -> Happening | None:
    """What a state is to its owner; None for one that is no news."""
    if state == JobState.RUNNING:
        return Happening.STARTED
    if state in FAILURES:
        return Happening.FAILED
    return Happening.ENDED if state in ENDED_STATES else None


class _Wishes:
    """Of the owners of these jobs who still work here."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        people = {(job.tenant_id, job.owner_id) for job in jobs}
        working = Membership.objects.working().filter(
            tenant__in={tenant for tenant, _ in people}, user__in={user for _, user in people}
        )
        rows = JobSubscription.objects.filter(
            tenant__in={tenant for tenant, _ in people}, user__in={user for _, user in people}
        ).select_related("job")
        found = list(rows)
        here = set(working.values_list("tenant_id", "user_id")) if found else set()
        self._all: dict[tuple[uuid.UUID, uuid.UUID], JobSubscription] = {}
        self._of: dict[tuple[uuid.UUID, uuid.UUID, int], JobSubscription] = {}
        for wish in found:
            person = (wish.tenant_id, wish.user_id)
            if person not in here:
                continue
            if wish.job is None:
                self._all[person] = wish
            else:
                self._of[(wish.user_id, wish.job.cluster_id, number_of(wish.job))] = wish

    def of(self, job: Job) -> JobSubscription | None:
        """The one that counts for this job."""
        assert job.owner_id is not None  # noqa: S101  # jobs of nobody were left out
        own = self._of.get((job.owner_id, job.cluster_id, number_of(job)))
        # Slurm gives numbers again; the tasks of one array were submitted at one moment
        if own and own.job and (own.job_id == job.pk or own.job.submit_time == job.submit_time):
            return own
        return self._all.get((job.tenant_id, job.owner_id))


def number_of(job: Job) -> int:
    """What the job belongs to, by Slurm's number: its array, its het job, or itself."""
    return job.array_job_id or job.het_job_id or job.slurm_job_id
