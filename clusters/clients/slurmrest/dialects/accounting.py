"""Reads what slurmdbd answers; the families differ in few keys, which each gives in a file of its own."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

import msgspec

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.dialects.accounting_rules import (
    AllQos,
    Associations,
    Conf,
    Shares,
    association_of,
    qos_of,
    settings_of,
    shares_of,
)
from clusters.clients.slurmrest.dialects.accounting_steps import (
    Step,
    Time,
    Tres,
    amount,
    steps_of,
    use_of,
    words,
)
from clusters.clients.slurmrest.dialects.records import main_state
from clusters.clients.slurmrest.models import FINISHED_STATES, ExitCode, JobId
from clusters.clients.slurmrest.past import (
    Association,
    AssociationLimits,
    PastJob,
    SlurmUser,
)
from clusters.clients.slurmrest.rules import Qos, Settings, Share
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, decode, moment, number
from portal.lib.http import Answer
from portal.lib.types import JSONDict

_T = TypeVar("_T")
NEVER_RAN: Final = "None assigned"


class BooksDialect(Protocol):
    """One family of API versions. A decoder raises what errors.from_entries makes of errors, or BadAnswer."""

    def moment(self, seconds: int) -> str:
        """A moment in a query."""

    def jobs(self, answer: Answer) -> tuple[PastJob, ...]:
        """All records of an answer; none only where Slurm says that it found nothing."""

    def users(self, answer: Answer) -> tuple[SlurmUser, ...]:
        """All users."""

    def associations(self, answer: Answer) -> tuple[Association, ...]:
        """All associations."""

    def qos(self, answer: Answer) -> tuple[Qos, ...]:
        """All qualities of service."""

    def shares(self, answer: Answer) -> tuple[Share, ...]:
        """What each account and user has used; of slurmctld."""

    def settings(self, answer: Answer) -> Settings:
        """What of slurmctld's configuration decides about a request."""

    def encode_limits(self, limits: AssociationLimits) -> JSONDict:
        """One association with exactly these limits."""


class _State(msgspec.Struct):
    current: str | list[str] | None = None
    reason: str | None = None


class _Array(msgspec.Struct):
    job_id: WireNumber = None
    task_id: WireNumber = None
    task: str | None = None


class _Het(msgspec.Struct):
    job_id: WireNumber = None
    job_offset: WireNumber = None


class _JobTres(msgspec.Struct):
    allocated: list[Tres] | None = None
    requested: list[Tres] | None = None


class WireJob(msgspec.Struct):
    """A job's record, in any version."""

    job_id: int
    name: str | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    state: _State | None = None
    time: Time | None = None
    array: _Array | None = None
    het: _Het | None = None
    nodes: str | None = None
    allocation_nodes: WireNumber = None
    tres: _JobTres | None = None
    steps: list[Step] | None = None
    exit_code: msgspec.Raw = msgspec.Raw(b"null")


class _Jobs(Envelope):
    jobs: list[WireJob] | None = None


class _Default(msgspec.Struct):
    account: str | None = None


class _User(msgspec.Struct):
    name: str
    administrator_level: str | list[str] | None = None
    default: _Default | None = None


class _Users(Envelope):
    users: list[_User] | None = None


class SharedBooks:
    """What all families share."""

    def moment(self, seconds: int) -> str:
        """See BooksDialect."""
        return f"uts{int(seconds)}"

    def jobs(self, answer: Answer) -> tuple[PastJob, ...]:
        """See BooksDialect."""
        found = decode(answer.body, _Jobs)
        check(answer, found, may_be_empty=True)
        return tuple(self._job(job) for job in _present(found.jobs))

    def users(self, answer: Answer) -> tuple[SlurmUser, ...]:
        """See BooksDialect."""
        found = decode(answer.body, _Users)
        check(answer, found)
        return tuple(
            SlurmUser(
                name=user.name,
                is_administrator="Administrator" in words(user.administrator_level),
                default_account=(user.default.account if user.default else "") or "",
            )
            for user in _present(found.users)
        )

    def associations(self, answer: Answer) -> tuple[Association, ...]:
        """See BooksDialect."""
        found = decode(answer.body, Associations)
        check(answer, found)
        return tuple(map(association_of, _present(found.associations)))

    def qos(self, answer: Answer) -> tuple[Qos, ...]:
        """See BooksDialect."""
        found = decode(answer.body, AllQos)
        check(answer, found)
        return tuple(map(qos_of, _present(found.found)))

    def shares(self, answer: Answer) -> tuple[Share, ...]:
        """See BooksDialect."""
        found = decode(answer.body, Shares)
        check(answer, found)
        return () if found.shares is None else shares_of(found.shares)

    def settings(self, answer: Answer) -> Settings:
        """See BooksDialect."""
        found = decode(answer.body, Conf)
        check(answer, found)
        return settings_of(found)

    def exit_code(self, raw: bytes) -> ExitCode | None:
        """How a job ended, where the family tells it right."""
        raise NotImplementedError

    def step_exit_code(self, raw: bytes, state: str) -> ExitCode | None:
        """How a step in this state ended; None where that is not told right."""
        return self.exit_code(raw) if state in FINISHED_STATES else None

    def _job(self, job: WireJob) -> PastJob:
        told = job.state or _State()
        state, _ = main_state(words(told.current))
        time, array, het = job.time or Time(), job.array or _Array(), job.het or _Het()
        given = (job.tres.allocated if job.tres else None) or []
        steps = job.steps or []
        return PastJob(
            job_id=JobId(job.job_id),
            name=job.name or "",
            user=job.user or "",
            account=job.account or "",
            partition=job.partition or "",
            qos=job.qos or "",
            state=state,
            reason="" if told.reason in {None, "None"} else told.reason or "",
            submit_time=count(time.submission),
            start_time=moment(time.start),
            end_time=moment(time.end),
            elapsed=count(time.elapsed),
            array_job_id=count(array.job_id) or None,
            array_task_id=_task(array),
            is_waiting_rest=bool(array.task),
            het_job_id=count(het.job_id) or None,
            het_job_offset=_plain(het.job_offset) if count(het.job_id) else None,
            nodes="" if job.nodes == NEVER_RAN else job.nodes or "",
            node_count=count(job.allocation_nodes),
            cpus=amount(given, "cpu"),
            gpus=amount(given, "gres", "gpu"),
            memory_mib=amount(given, "mem"),
            exit_code=self.exit_code(bytes(job.exit_code)),
            use=use_of(steps),
            steps=steps_of(steps, self.step_exit_code),
            step_count=len(steps),
        )


def check(answer: Answer, found: Envelope, *, may_be_empty: bool = False) -> None:
    """Raise what an answer complains about: slurmdbd away is told with status 200 and an empty list."""
    left = [entry for entry in found.errors or () if entry.code != errors.NOTHING_FOUND or not may_be_empty]
    if left:
        if {entry.code for entry in left} & errors.BOOKS_AWAY:
            raise errors.NotReachable("The cluster's slurmdbd does not answer.")
        raise errors.from_entries(left, status=answer.status, seconds=answer.seconds)


def _present(found: list[_T] | None) -> list[_T]:
    if found is None:
        raise errors.BadAnswer
    return found


def _plain(value: WireNumber) -> int | None:
    read = number(value)
    return read if isinstance(read, int) else None


def _task(array: _Array) -> int | None:
    if not count(array.job_id) or array.task:
        return None
    return _plain(array.task_id)
