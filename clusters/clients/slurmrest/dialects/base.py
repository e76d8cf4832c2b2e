"""What a dialect does: our types into one family's requests, and its answers into our types."""

from __future__ import annotations

from typing import Protocol, TypeVar

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.errors import BadAnswer, from_entries
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    Diag,
    JobList,
    NodeRecord,
    PartitionRecord,
    Ping,
    SubmitRequest,
    SubmitResult,
)
from clusters.clients.slurmrest.wire import Envelope, decode
from portal.lib.http import Answer
from portal.lib.types import JSONDict

T = TypeVar("T", bound=Envelope)
V = TypeVar("V")


class Dialect(Protocol):
    """One family of API versions.

    A decoder takes an answer of status 200 and raises what errors.from_entries makes of its errors, or
    BadAnswer. A list that is absent is an error and never an empty list.
    """

    ping_hides_token: bool  # a ping with a dead token is answered as if the controller were away
    ignores: frozenset[str]  # names of JobChanges that it takes without a word and does not change
    updates_tasks: bool  # one task of an array can be changed by "12_3"
    cancels_tasks: bool  # one task of an array can be ended by "12_3"; else that ends all of them
    must_own_to_cancel: bool  # a cancel of another account's job does harm: look who owns it first
    lists_states: bool

    def unchanged_query(self, since: int) -> str:
        """The query with which a list of jobs may answer "unchanged"."""

    def is_unchanged(self, answer: Answer) -> bool:
        """Whether an answer to that says so."""

    def encode_submit(self, request: SubmitRequest) -> JSONDict:
        """The body of a submit."""

    def accepted(self, answer: Answer) -> SubmitResult | None:
        """The job that an answer of any status names; None without one."""

    def check_cancel(self, answer: Answer) -> None:
        """Raise what an answer of status 200 to a cancel still complains about."""

    def encode_update(self, changes: JobChanges) -> JSONDict:
        """The body of a change."""

    def updated(self, answer: Answer) -> UpdateResult:
        """What an answer of status 200 to a change says; raises what it complains about."""

    def states(self, answer: Answer) -> tuple[JobState, ...]:
        """All lines of the short list, where there is one."""

    def reservations(self, answer: Answer) -> tuple[ReservationRecord, ...]:
        """All reservations of an answer."""

    def licenses(self, answer: Answer) -> tuple[LicenseRecord, ...]:
        """All licenses of an answer."""

    def jobs(self, answer: Answer) -> JobList:
        """All records of an answer."""

    def nodes(self, answer: Answer) -> tuple[NodeRecord, ...]:
        """All nodes of an answer."""

    def partitions(self, answer: Answer) -> tuple[PartitionRecord, ...]:
        """All partitions of an answer."""

    def diag(self, answer: Answer) -> Diag:
        """The controller's clock and counts."""

    def ping(self, answer: Answer) -> Ping:
        """Whether the controller answers."""


def opened(answer: Answer, kind: type[T]) -> T:
    """The answer as a wire struct, once it is known to hold no errors."""
    wire = decode(answer.body, kind)
    if wire.errors:
        raise from_entries(wire.errors, status=answer.status, seconds=answer.seconds)
    return wire


def present(value: V | None) -> V:
    """The part for which the answer was asked. Raises BadAnswer where it is absent."""
    if value is None:
        raise BadAnswer("The cluster's Slurm API left out what it was asked for.", "key absent")
    return value
