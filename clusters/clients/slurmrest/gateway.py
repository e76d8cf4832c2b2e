"""The narrow door to one Slurm cluster. RestGateway implements it over slurmrestd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    Diag,
    JobList,
    JobRecord,
    NodeRecord,
    PartitionRecord,
    Ping,
    SubmitRequest,
    SubmitResult,
)


class SlurmGateway(Protocol):
    """Acts and looks as one account of one cluster. Every method has a deadline.

    Raises, of clusters.clients.slurmrest.errors: NotReachable (no answer), BadAnswer (an answer that
    is not Slurm's), TokenRefused, VersionGone (ask again which versions exist), SlurmRefused with
    Slurm's code and its kinds UnknownJob and NotPermitted. A change may also end in Unclear: it was
    sent, and whether it was done is not known. Nothing that changes something is ever sent twice, but
    for what Slurm clearly refused with "try again".
    """

    @property
    def lists_states(self) -> bool:
        """Whether `states` can be asked: from v0.0.40 on."""

    def ping(self) -> Ping:
        """Whether the controller answers. Says nothing about the account's rights."""

    def diag(self) -> Diag:
        """The controller's clock and counts; cheap whatever the queue's length."""

    def jobs(self, *, unchanged_since: int | None = None) -> JobList | None:
        """The full list, or None when nothing changed since that moment (a `req_time` of diag)."""

    def job(self, job_id: int) -> tuple[JobRecord, ...]:
        """All records of a job: several for an array. Empty only if Slurm says that there is none."""

    def nodes(self) -> tuple[NodeRecord, ...]:
        """All nodes."""

    def partitions(self) -> tuple[PartitionRecord, ...]:
        """All partitions."""

    def submit(self, request: SubmitRequest) -> SubmitResult:
        """Hand in a job. Raises ValueError for a request that must never be sent."""

    def submit_each(
        self, requests: Iterable[SubmitRequest], *, at_once: int
    ) -> Iterator[tuple[int, SubmitResult | Exception]]:
        """Hand in several on a few connections: (place, what came of it), as the answers come.

        An error is what `submit` would raise. Slurm's numbers need not be in the order of the requests, of
        which one is read when it can be sent. Whoever stops before the end leaves what is under way unclear.
        """

    def states(self) -> tuple[JobState, ...]:
        """Id and state of all jobs, one line for each task of an array: 40 times less than the full list."""

    def reservations(self) -> tuple[ReservationRecord, ...]:
        """All reservations."""

    def licenses(self) -> tuple[LicenseRecord, ...]:
        """All licenses."""

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        """End "12" or the array task "12_3". UnknownJob if there is none; a finished one is fine.

        NotPermitted for another account's. Raises CannotAsk for a task where the version would end the
        whole array.
        """

    def update(self, job: str, changes: JobChanges) -> UpdateResult:
        """Change "12" (of an array: all waiting tasks) or the array task "12_3"; then look at the record.

        From v0.0.40 on a task is changed by the job id of its own record, once it has one that is not the
        array's; and a change of a het job changes the named part only. Raises CannotAsk, which also tells
        what this version would ignore, and ValueError for a change that must never be sent.
        """
