"""A Slurm that keeps its jobs in memory, at the network seam; it can lose answers, refuse and fall silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    Diag,
    JobId,
    JobList,
    JobRecord,
    NodeRecord,
    PartitionRecord,
    Ping,
    SubmitRequest,
    SubmitResult,
)
from clusters.models import SlurmIdentity
from jobs import outside
from portal.lib import clock
from tests.clusters.submit_each import SubmitsEach


class FakeSlurm(SubmitsEach):
    """Implements SlurmGateway for every account; `account` is whoever asked last."""

    def __init__(self) -> None:
        self.account = ""
        self.submitted: list[SubmitRequest] = []
        self.cancelled: list[tuple[str, str]] = []
        self.changed: list[tuple[str, JobChanges]] = []
        self.lists_states = False
        self.records: dict[int, JobRecord] = {}
        self.fault: Exception | None = None  # raised by every call
        self.lost: bool = False  # the next submit is done, and its answer lost
        self.refusal: Exception | None = None  # raised by submit
        self.warnings: tuple[str, ...] = ()
        self.listed: list[int | None] = []
        self.asked: list[int] = []
        self.counts: tuple[int, int] | None = None  # what diag says; else counted
        self.unchanged = False
        self.doings: tuple[int, ...] = ()

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault

    def ping(self) -> Ping:
        self._check()
        return Ping(responding=True)

    def diag(self) -> Diag:
        self._check()
        states = [record.state for record in self.records.values()]
        pending, running = self.counts or (states.count("PENDING"), states.count("RUNNING"))
        return Diag(req_time=self.now(), jobs_pending=pending, jobs_running=running, doings=self.doings)

    def jobs(self, *, unchanged_since: int | None = None) -> JobList | None:
        self._check()
        self.listed.append(unchanged_since)
        if self.unchanged and unchanged_since is not None:
            return None
        return JobList(jobs=tuple(self.records.values()))

    def job(self, job_id: int) -> tuple[JobRecord, ...]:
        self._check()
        self.asked.append(job_id)
        return tuple(r for r in self.records.values() if job_id in {r.job_id, r.array_job_id})

    def states(self) -> tuple[JobState, ...]:
        self._check()
        return tuple(JobState(number=r.job_id, state=r.state, flags=r.flags) for r in self.records.values())

    def reservations(self) -> tuple[ReservationRecord, ...]:
        self._check()
        return ()

    def licenses(self) -> tuple[LicenseRecord, ...]:
        self._check()
        return ()

    def update(self, job: str, changes: JobChanges) -> UpdateResult:
        self._check()
        self.changed.append((job, changes))
        return UpdateResult()

    def nodes(self) -> tuple[NodeRecord, ...]:
        self._check()
        return ()

    def partitions(self) -> tuple[PartitionRecord, ...]:
        self._check()
        return (
            PartitionRecord(
                name="train", state="UP", is_default=True, total_nodes=2, total_cpus=16, max_time=10080
            ),
        )

    def submit(self, request: SubmitRequest) -> SubmitResult:
        self._check()
        if self.refusal is not None:
            raise self.refusal
        self.submitted.append(request)
        job_id = 4710 + len(self.submitted)
        self.add(
            job_id=job_id,
            name=request.name or "",
            comment=request.comment or "",
            working_directory=request.working_directory or "",
            user_name=self.account,
        )
        if self.lost:
            self.lost = False
            raise errors.Unclear("connection lost")
        return SubmitResult(job_id=JobId(job_id), warnings=self.warnings)

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        self._check()
        self.cancelled.append((self.account, job))

    def add(self, **columns: object) -> JobRecord:
        """A record; pending, submitted now, unless told otherwise."""
        facts = {"job_id": JobId(1), "name": "job", "state": "PENDING", "submit_time": self.now(), **columns}
        record = JobRecord(**facts)  # type: ignore[arg-type]
        self.records[record.job_id] = record
        return record

    def change(self, job_id: int, **columns: object) -> JobRecord:
        """The record with other values."""
        old = self.records[job_id]
        facts = {name: getattr(old, name) for name in JobRecord.__struct_fields__}
        return self.add(**(facts | columns))

    @staticmethod
    def now() -> int:
        """The controller's clock."""
        return int(clock.now().timestamp())


def install(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    """Put it in the place of every cluster's Slurm API."""
    slurm = FakeSlurm()

    @contextmanager
    def gateway_for(identity: SlurmIdentity, *_: object, **_how: object) -> Iterator[SlurmGateway]:
        slurm.account = identity.name
        yield slurm

    monkeypatch.setattr(outside, "gateway_for", gateway_for)
    return slurm


Change = Callable[[FakeSlurm], None]
