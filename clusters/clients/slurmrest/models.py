"""What Freehold knows of Slurm's things, whatever API version they came through.

Times are epoch seconds of the Slurm controller's clock, or None where Slurm has none ("0" is none).
Memory is in MiB, time limits are in minutes. An optional number is an int, None (not set) or UNLIMITED.
"""

from __future__ import annotations

import enum
from typing import Final, Literal, NewType, TypeAlias

import msgspec

from clusters.clients.slurmrest.gres import NO_GPUS, Gpus

JobId = NewType("JobId", int)


class Unlimited(enum.Enum):
    """The type of UNLIMITED, so that a type checker tells it from a number."""

    UNLIMITED = "unlimited"


UNLIMITED: Final = Unlimited.UNLIMITED
Limit: TypeAlias = int | Unlimited | None

FINISHED_STATES: Final = frozenset(
    {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"}
    | {"OUT_OF_MEMORY"}
)
MAIN_STATES: Final = FINISHED_STATES | {"PENDING", "RUNNING", "SUSPENDED"}

UNUSABLE_FLAGS: Final = frozenset(
    {"DRAIN", "FAIL", "NOT_RESPONDING", "MAINTENANCE", "INVALID", "INVALID_REG", "REBOOT_ISSUED"}
    | {"REBOOT_REQUESTED", "POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN"}
)


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Immutable, by keyword, without a dict per instance: lists of 10,000 are usual."""


class ExitCode(_Record, frozen=True):
    """How a job's script ended: its exit status, or the signal that ended it."""

    status: int = 0
    signal: int = 0
    core_dumped: bool = False


class JobRecord(_Record, frozen=True):
    """One record of slurmctld's job table: a job, a started array task, or the waiting rest of an array."""

    job_id: JobId
    name: str
    state: str  # the main state: one of MAIN_STATES, or UNKNOWN
    flags: frozenset[str] = frozenset()  # COMPLETING, CONFIGURING, REQUEUED ...
    reason: str = ""  # why it waits or failed; "" for none
    reason_detail: str = ""
    user_name: str | None = None  # None: the account is not known to Slurm's host
    user_id: int | None = None
    group_id: int | None = None
    account: str = ""
    partition: str = ""
    qos: str = ""
    comment: str = ""  # with the mark of a submit
    array_job_id: int | None = None  # None: not of an array
    array_task_id: int | None = None  # None: no array, or the waiting rest of one
    array_task_string: str = ""  # the waiting rest: "3-8%2"
    het_job_id: int | None = None
    het_job_offset: int | None = None
    submit_time: int | None = None
    eligible_time: int | None = None
    start_time: int | None = None  # of a waiting job: Slurm's estimate
    end_time: int | None = None  # of a running job: when its time limit ends
    time_limit: Limit = None
    nodes: str = ""  # a host list such as "n[1-4]"
    batch_host: str = ""
    node_count: Limit = None
    cpus: Limit = None
    tasks: Limit = None
    cpus_per_task: Limit = None
    memory_per_node: Limit = None  # 0: all memory of the node
    memory_per_cpu: Limit = None
    gpus: Gpus = NO_GPUS  # held by a running job, else asked for (in all; per node where Slurm says no more)
    gres_detail: tuple[str, ...] = ()  # one text per node, only while it runs
    tres_requested: str = ""
    tres_allocated: str = ""
    exit_code: ExitCode | None = None
    priority: Limit = None
    hold: bool = False
    restarts: int = 0
    dependency: str = ""
    reservation: str = ""
    features: str = ""
    working_directory: str = ""
    standard_input: str = ""
    standard_output: str = ""  # a pattern unless paths_expanded; "" is Slurm's default
    standard_error: str = ""  # "" is the same file as standard_output
    paths_expanded: bool = False

    @property
    def is_finished(self) -> bool:
        """Ended, and its nodes are free again."""
        return self.state in FINISHED_STATES and "COMPLETING" not in self.flags

    @property
    def shown_id(self) -> str:
        """The id as people and commands write it: "12", "12_3", "12_[3-8%2]", "12+1"."""
        if self.array_job_id is not None:
            if self.array_task_id is not None:
                return f"{self.array_job_id}_{self.array_task_id}"
            return f"{self.array_job_id}_[{self.array_task_string}]"
        if self.het_job_id is not None:
            return f"{self.het_job_id}+{self.het_job_offset or 0}"
        return str(self.job_id)


class JobList(_Record, frozen=True):
    """All job records of the controller at one moment."""

    jobs: tuple[JobRecord, ...]
    last_update: int | None = None  # only from v0.0.42 on


class NodeRecord(_Record, frozen=True):
    """One node as slurmctld sees it."""

    name: str
    state: str  # IDLE, MIXED, ALLOCATED, DOWN, ERROR, FUTURE, UNKNOWN
    flags: frozenset[str] = frozenset()  # DRAIN, NOT_RESPONDING, PLANNED, MAINTENANCE ...
    partitions: tuple[str, ...] = ()
    address: str = ""
    cpus: int = 0
    cpus_allocated: int = 0
    memory: int = 0
    memory_allocated: int = 0
    memory_free: int | None = None
    gpus: Gpus = NO_GPUS  # installed
    gpus_allocated: Gpus = NO_GPUS
    features: str = ""
    reason: str = ""
    reason_by: str = ""
    reason_at: int | None = None
    boot_time: int | None = None
    slurmd_version: str = ""

    @property
    def is_usable(self) -> bool:
        """New jobs may start here."""
        return self.state in {"IDLE", "MIXED", "ALLOCATED"} and not self.flags & UNUSABLE_FLAGS

    @property
    def gpus_available(self) -> int:
        """GPUs that work for jobs, busy or free: none of a node that is down or drained."""
        return self.gpus.total if self.is_usable else 0

    @property
    def gpus_free(self) -> int:
        """GPUs that a job could get now."""
        return max(0, self.gpus.total - self.gpus_allocated.total) if self.is_usable else 0


class PartitionRecord(_Record, frozen=True):
    """One partition: a named set of nodes with limits."""

    name: str
    state: str  # UP, DOWN, DRAIN, INACTIVE
    is_default: bool = False
    nodes: str = ""
    total_nodes: int = 0
    total_cpus: int = 0
    max_time: Limit = UNLIMITED
    default_time: Limit = None  # None: the same as max_time
    max_nodes: Limit = UNLIMITED
    gpus: Gpus = NO_GPUS
    tres: str = ""
    qos: str = ""  # whose limits hold for its jobs
    allowed_accounts: str = ""  # "research,other"; "" is all of them
    denied_accounts: str = ""
    allowed_qos: str = ""
    denied_qos: str = ""


class Ping(_Record, frozen=True):
    """Whether slurmrestd reaches its slurmctld."""

    responding: bool
    release: str = ""  # "22.05.8"
    cluster: str = ""  # only from v0.0.40 on
    controller: str = ""  # host name


class Diag(_Record, frozen=True):
    """The controller's clock and counts. The counts are of array tasks and up to a minute old."""

    req_time: int
    jobs_pending: int
    jobs_running: int
    # how often it did what may change a job: while it stays the same, only questions were answered; () where
    # this Slurm does not tell. A moment that passes, as a time limit's, may take a minute to show in it.
    doings: tuple[int, ...] = ()


class GpuRequest(_Record, frozen=True):
    """GPUs for each node, or in all."""

    count: int
    model: str = ""  # Slurm's gres type, e.g. "a100"; "" is any
    per: Literal["node", "job"] = "node"


class JobSpec(_Record, frozen=True):
    """What a job, or one component of a heterogeneous job, asks for.

    None means that the key is not sent at all, so that Slurm's default holds. Texts are as sbatch takes
    them; which API version can carry which field stands in dialects.submit.
    """

    name: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    reservation: str | None = None
    nodes: int | None = None  # at least
    max_nodes: int | None = None  # None: as many as nodes
    min_nodes: int | None = None  # without a most; sbatch works it out
    node_sizes: str | None = None  # "1,2,4" or "2-8:2": any of these numbers of nodes
    tasks: int | None = None
    tasks_by_gpus: int | None = None  # where `tasks` is None; sbatch works it out
    tasks_per_node: int | None = None
    tasks_per_socket: int | None = None
    tasks_per_core: int | None = None
    tasks_per_gpu: int | None = None
    cpus_per_task: int | None = None
    cpus_per_gpu: int | None = None
    min_cpus: int | None = None  # in all; sbatch works it out
    min_cpus_per_node: int | None = None
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    gpus: GpuRequest | None = None
    gpus_per_job: str | None = None  # "2" or "a100:2,h100:1", as of --gpus; the next ones alike
    gpus_per_node: str | None = None
    gpus_per_socket: str | None = None
    gpus_per_task: str | None = None
    gres: str | None = None  # per node: "gpu:a100:2,shard:3"
    tres_per_task: str | None = None  # "cpu=2,gres/gpu:1"
    gpu_bind: str | None = None
    gpu_freq: str | None = None
    tres_bind: str | None = None
    gres_flags: Literal["disable-binding", "enforce-binding"] | None = None
    memory_mib: int | None = None  # per node; 0 is all memory of the node and is sent
    memory_per_cpu_mib: int | None = None
    memory_per_gpu_mib: int | None = None
    temporary_disk_mib: int | None = None
    time_limit_minutes: Limit = None
    time_min_minutes: Limit = None
    begin: int | None = None  # epoch seconds
    deadline: int | None = None  # epoch seconds
    delay_boot: int | None = None  # seconds
    warning: str | None = None  # a signal and the seconds before the end: "USR1@60", "R:10@120"
    warning_batch: bool | None = None  # to the script only
    constraint: str | None = None
    prefer: str | None = None
    batch_constraint: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    sharing: Literal["exclusive", "oversubscribe", "user", "mcs", "topo"] | None = None
    contiguous: bool | None = None
    spread: bool | None = None
    fewest_nodes: bool | None = None
    overcommit: bool | None = None
    keep_on_node_failure: bool | None = None
    kill_on_invalid_dependency: bool | None = None
    reboot: bool | None = None
    wait_all_nodes: bool | None = None
    step_manager: bool | None = None
    oom_kill_step: bool | Literal["configured"] | None = None
    spread_segments: bool | None = None
    consolidate_segments: bool | None = None
    requeue_expedited: bool | None = None
    switches: int | None = None
    switches_wait: int | None = None  # seconds
    segment_size: int | None = None
    core_spec: int | None = None
    thread_spec: int | None = None
    distribution: str | None = None
    cpu_frequency: str | None = None
    accounting_frequency: str | None = None
    profile: tuple[str, ...] | None = None  # ENERGY, NETWORK ...
    licenses: str | None = None
    wckey: str | None = None
    network: str | None = None
    mcs_label: str | None = None
    burst_buffer: str | None = None
    container: str | None = None
    container_id: str | None = None
    container_type: str | None = None
    extra: str | None = None
    selinux_context: str | None = None
    memory_update: tuple[int, int] | None = None  # margin, minutes
    mail_types: tuple[str, ...] | None = None  # BEGIN, TIME_LIMIT_90 ...
    mail_user: str | None = None
    working_directory: str | None = None
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    open_mode: Literal["append", "truncate"] | None = None
    comment: str | None = None  # carries the mark
    dependency: str | None = None
    array: str | None = None
    nice: int | None = None
    priority: int | None = None
    requeue: bool | None = None
    hold: bool = False


class SubmitRequest(JobSpec, frozen=True, kw_only=True):
    """A batch job; with `components` the first one of a heterogeneous job, which carries the script."""

    script: str  # LF line ends, begins with #!, no NUL
    environment: dict[str, str]  # never empty: slurmctld refuses a job without one
    components: tuple[JobSpec, ...] = ()


class SubmitResult(_Record, frozen=True):
    """An accepted job. Warnings are Slurm's own words, for example that it is over a partition's limit."""

    job_id: JobId
    warnings: tuple[str, ...] = ()
