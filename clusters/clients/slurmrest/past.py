"""What slurmdbd knows: jobs as they were, and the accounts and limits they were charged to.

Times are epoch seconds of the controller's clock, memory is in MiB. An optional number is an int, None (not
set, or not gathered) or UNLIMITED.
"""

from __future__ import annotations

from clusters.clients.slurmrest.models import ExitCode, JobId, _Record
from clusters.clients.slurmrest.rules import NO_BOUNDS, Bounds


class JobUse(_Record, frozen=True):
    """What the steps of a job took, as far as the cluster gathers it; None: it does not."""

    cpu_seconds: float | None = None
    memory_mib: int | None = None  # the most that the tasks of a step held at once
    gpu_percent: float | None = None  # mean over the time, of all its GPUs


class PastStep(_Record, frozen=True):
    """One step: "batch" is the script, "extern" what is started beside it, "0" and up are runs of srun."""

    step: str
    name: str = ""
    state: str = "UNKNOWN"  # as in JobRecord
    exit_code: ExitCode | None = None  # None: it runs, or this API version does not tell it right
    node_count: int = 0
    tasks: int = 0
    start_time: int | None = None
    end_time: int | None = None
    elapsed: int = 0  # seconds
    cpu_seconds: float | None = None
    memory_mib: int | None = None  # the most that one of its tasks held


class PastJob(_Record, frozen=True):
    """One record: a job, an array task, or the part of an array that never started."""

    job_id: JobId
    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    state: str = "UNKNOWN"  # as in JobRecord
    reason: str = ""
    submit_time: int = 0
    start_time: int | None = None
    end_time: int | None = None
    elapsed: int = 0  # seconds
    array_job_id: int | None = None
    array_task_id: int | None = None
    is_waiting_rest: bool = False  # tasks that were not split off
    het_job_id: int | None = None
    het_job_offset: int | None = None
    nodes: str = ""
    node_count: int = 0
    cpus: int = 0
    gpus: int = 0
    memory_mib: int = 0  # given
    exit_code: ExitCode | None = None  # None: this API version does not tell it right
    use: JobUse = JobUse()
    steps: tuple[PastStep, ...] = ()  # of very many the first and the last
    step_count: int = 0


class SlurmUser(_Record, frozen=True):
    """A user of Slurm's accounting."""

    name: str
    is_administrator: bool = False
    default_account: str = ""


class AssociationLimits(_Record, frozen=True):
    """What one account, or one user in an account, may use at once. None: no limit here."""

    account: str
    cluster: str
    user: str = ""  # "": the account as a whole
    running_jobs: int | None = None  # of an account: of all its users together
    submitted_jobs: int | None = None
    gpus: int | None = None  # at once, of all its jobs together
    wall_minutes: int | None = None  # of one job


class Association(_Record, frozen=True):
    """An account, or a user of it, in one cluster."""

    limits: AssociationLimits
    parent: str = ""
    partition: str = ""
    is_default: bool = False
    bounds: Bounds = NO_BOUNDS  # all that it allows, with what is in `limits`
    qos: tuple[str, ...] = ()  # that may be asked for
    default_qos: str = ""
