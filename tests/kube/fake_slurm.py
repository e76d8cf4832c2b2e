"""A Slurm with state, for steps that speak to one and to an API server: jobs of any account, at once done."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.errors import Unclear, UnknownJob
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    Diag,
    ExitCode,
    JobId,
    JobList,
    JobRecord,
    NodeRecord,
    PartitionRecord,
    Ping,
    SubmitRequest,
    SubmitResult,
)
from clusters.clients.slurmrest.versions import DiscoveredVersion
from clusters.drivers.slinky import ready
from clusters.drivers.slinky.reach import Reach
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.provisioning.steps import StepContext
from portal.lib.errors import OutsideError
from tests.clusters.submit_each import SubmitsEach

API = "v0.0.44"


@dataclass
class FakeSlurm(Reach):
    """Every cluster's Slurm. `known` are accounts that it has; None is all. `ends` is how jobs end."""

    known: set[str] | None = None
    ends: str = "COMPLETED"
    status: int = 0
    trouble: OutsideError | None = None
    missing: int = 0  # nodes of each pool that do not register
    jobs: dict[int, JobRecord] = field(default_factory=dict)
    submits: int = 0
    lost: int = 0  # submits that are done and not answered

    def __post_init__(self) -> None:
        super().__init__(SlinkySettings())

    def url(self, ctx: StepContext) -> str:
        """See Reach."""
        return f"https://kube.example/{ctx.spec.name}/proxy"

    def discover(self, ctx: StepContext, account: str) -> DiscoveredVersion:
        """See Reach."""
        if self.trouble is not None:
            raise self.trouble
        return DiscoveredVersion(api=API, release="26.05.1", offered=(API,))

    def gateway(self, ctx: StepContext, account: str, version: str = "") -> SlurmGateway:
        """See Reach."""
        if self.trouble is not None:
            raise self.trouble
        return _Gateway(self, ctx, account)


@dataclass
class _Gateway(SubmitsEach):
    slurm: FakeSlurm
    ctx: StepContext
    account: str
    lists_states: bool = False

    def ping(self) -> Ping:
        return Ping(responding=True, release="26.05.1")

    def diag(self) -> Diag:
        return Diag(req_time=1, jobs_pending=0, jobs_running=0)

    def jobs(self, *, unchanged_since: int | None = None) -> JobList | None:
        return JobList(jobs=tuple(self.slurm.jobs.values()))

    def job(self, job_id: int) -> tuple[JobRecord, ...]:
        found = self.slurm.jobs.get(job_id)
        return (found,) if found else ()

    def nodes(self) -> tuple[NodeRecord, ...]:
        return tuple(
            NodeRecord(name=f"{pool.name}-{index}", state="IDLE", partitions=(pool.name,))
            for pool in self.ctx.spec.pools
            for index in range(ready.wanted_workers(pool) - self.slurm.missing)
        )

    def partitions(self) -> tuple[PartitionRecord, ...]:
        return ()

    def states(self) -> tuple[JobState, ...]:
        return ()

    def reservations(self) -> tuple[ReservationRecord, ...]:
        return ()

    def licenses(self) -> tuple[LicenseRecord, ...]:
        return ()

    def update(self, job: str, changes: JobChanges) -> UpdateResult:
        raise UnknownJob(2017, "Invalid job id")

    def submit(self, request: SubmitRequest) -> SubmitResult:
        slurm = self.slurm
        slurm.submits += 1
        number = JobId(len(slurm.jobs) + 1)
        known = slurm.known is None or self.account in slurm.known
        slurm.jobs[number] = JobRecord(
            job_id=number,
            name=request.name or "",
            state="PENDING" if request.hold else slurm.ends,
            user_name=self.account if known else None,
            comment=request.comment or "",
            partition=request.partition or "",
            hold=request.hold,
            exit_code=ExitCode(status=slurm.status),
        )
        if slurm.lost:
            slurm.lost -= 1
            raise Unclear("lost")
        return SubmitResult(job_id=number)

    def cancel(self, job: str, *, signal: str | None = None) -> None:
        found = self.slurm.jobs.get(int(job))
        if found is None:
            raise UnknownJob(2017, "Invalid job id")
        self.slurm.jobs[int(job)] = msgspec.structs.replace(found, state="CANCELLED")
