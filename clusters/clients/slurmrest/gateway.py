"""The narrow door to one Slurm cluster. RestGateway implements it over slurmrestd."""

from __future__ import annotations

from typing import Protocol

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
    sent, and whether it was done is not known. Nothing that changes something is ever sent twice.
    """

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

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        """End "12" or the array task "12_3". UnknownJob if there is none; a finished one is fine."""
