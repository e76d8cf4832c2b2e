"""A slurmdbd without daemons, at the seam where workers open a cluster's accounting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clusters.clients.slurmrest.models import ExitCode, JobId
from clusters.clients.slurmrest.past import Association, AssociationLimits, JobUse, PastJob, SlurmUser
from clusters.clients.slurmrest.rules import Qos, Settings, Share
from clusters.models import IdentityKind, SlurmEndpoint
from jobs.history import books
from jobs.models import Job


class FakeBooks:
    """Implements SlurmAccounting: all records, whatever the window, and older ones by number only."""

    def __init__(self) -> None:
        self.records: list[PastJob] = []
        self.older: list[PastJob] = []
        self.sought: list[int] = []
        self.windows: list[tuple[int, int]] = []
        self.fault: Exception | None = None
        self.asked_as: list[str] = []
        self.limits: dict[str, AssociationLimits] = {}
        self.refusal: Exception | None = None
        self.rules: tuple[Association, ...] = ()  # with their bounds
        self.every_qos: tuple[Qos, ...] = ()
        self.used: tuple[Share, ...] | None = None
        self.conf = Settings()
        self.no_rules: Exception | None = None

    def jobs(self, since: int, until: int) -> tuple[PastJob, ...]:
        self.windows.append((since, until))
        if self.fault is not None:
            raise self.fault
        return tuple(self.records)

    def job(self, job_id: int) -> tuple[PastJob, ...]:
        self.sought.append(job_id)
        return tuple(one for one in (*self.older, *self.records) if one.job_id == job_id)

    def users(self) -> tuple[SlurmUser, ...]:
        return ()

    def associations(self) -> tuple[Association, ...]:
        if self.fault is not None:
            raise self.fault
        return (*self.rules, *(Association(limits=one) for one in self.limits.values()))

    def qos(self) -> tuple[Qos, ...]:
        if self.no_rules is not None:
            raise self.no_rules
        return self.every_qos

    def shares(self) -> tuple[Share, ...] | None:
        return self.used

    def settings(self) -> Settings:
        return self.conf

    def set_limits(self, limits: AssociationLimits) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.limits[limits.user] = limits

    def add_user(self, user: str, *, account: str, cluster: str) -> None: ...

    def remove_user(self, user: str, *, account: str, cluster: str) -> None: ...


def install(monkeypatch: pytest.MonkeyPatch) -> FakeBooks:
    """In the place of every cluster's accounting."""
    fake = FakeBooks()

    @contextmanager
    def books_of(endpoint: SlurmEndpoint, kind: IdentityKind = IdentityKind.OBSERVER) -> Iterator[FakeBooks]:
        fake.asked_as.append(kind.value)
        yield fake

    monkeypatch.setattr(books, "books_of", books_of)
    return fake


def past(job: Job, *, state: str = "COMPLETED", **fields: object) -> PastJob:
    """What slurmdbd would tell of a job that ran ten minutes on four CPUs and used two of them."""
    start = int(job.submit_time.timestamp()) + 60
    told: dict[str, object] = {
        "job_id": JobId(job.slurm_job_id),
        "name": job.name,
        "user": job.user_name,
        "account": "aurora-lab",
        "partition": job.partition,
        "state": state,
        "submit_time": int(job.submit_time.timestamp()),
        "start_time": start,
        "end_time": start + 600,
        "elapsed": 600,
        "node_count": 1,
        "nodes": "n0",
        "cpus": 4,
        "gpus": 2,
        "memory_mib": 8192,
        "exit_code": ExitCode(),
        "use": JobUse(cpu_seconds=1200.0, memory_mib=2048),
    }
    return PastJob(**(told | fields))  # type: ignore[arg-type]
