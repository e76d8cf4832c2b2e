"""v0.0.40 to v0.0.45 (Slurm 23.11 to 26.05): optional numbers as objects, states as lists.

Seen in answers of Debian's slurmrestd 24.11.5 and 26.05.5. Unknown keys of a submit are dropped there
with a warning, so every key that we send is one that these versions name.
"""

from __future__ import annotations

from typing import Final

import msgspec

from clusters.clients.slurmrest.dialects.answers import Submitted, read_diag
from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.dialects.records import (
    JobFields,
    NodeFields,
    job_record,
    main_state,
    node_record,
    texts,
)
from clusters.clients.slurmrest.dialects.submit import body_of
from clusters.clients.slurmrest.dialects.submit_v40 import encode_v40
from clusters.clients.slurmrest.errors import JOB_UNKNOWN, ErrorEntry, from_entries
from clusters.clients.slurmrest.gres import parse_gpus
from clusters.clients.slurmrest.models import (
    FINISHED_STATES,
    UNLIMITED,
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
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, decode, moment, number
from portal.lib.http import Answer
from portal.lib.types import JSONDict

UNCHANGED: Final = "No job changes since"
NO_TASK: Final = "4294967294"  # stands for %a in the expanded path of an array's waiting rest


class _Signal(msgspec.Struct):
    id: WireNumber = None


class _Exit(msgspec.Struct):
    status: list[str] | None = None
    return_code: WireNumber = None
    signal: _Signal | None = None


class _Job(JobFields, kw_only=True):
    job_state: list[str]
    exit_code: _Exit | None = None
    stdout_expanded: str | None = None  # from v0.0.43 on; before, standard_output is expanded itself
    stderr_expanded: str | None = None


class _Jobs(Envelope):
    jobs: list[_Job] | None = None
    last_update: WireNumber = None


class _Node(NodeFields, kw_only=True):
    state: list[str]
    free_mem: WireNumber = None
    features: list[str] | None = None
    version: str | None = None


class _Nodes(Envelope):
    nodes: list[_Node] | None = None


class _PartNodes(msgspec.Struct):
    configured: str = ""
    total: WireNumber = None


class _Total(msgspec.Struct):
    total: WireNumber = None


class _Times(msgspec.Struct):
    time: WireNumber = None
    nodes: WireNumber = None


class _Configured(msgspec.Struct):
    configured: str = ""


class _Assigned(msgspec.Struct):
    assigned: str = ""


class _Allowed(msgspec.Struct):
    allowed: str = ""


class _States(msgspec.Struct):
    state: list[str] = msgspec.field(default_factory=list)


class _Partition(msgspec.Struct):
    name: str
    partition: _States = msgspec.field(default_factory=_States)
    nodes: _PartNodes = msgspec.field(default_factory=_PartNodes)
    cpus: _Total = msgspec.field(default_factory=_Total)
    maximums: _Times = msgspec.field(default_factory=_Times)
    defaults: _Times = msgspec.field(default_factory=_Times)
    tres: _Configured = msgspec.field(default_factory=_Configured)
    qos: _Assigned = msgspec.field(default_factory=_Assigned)
    accounts: _Allowed = msgspec.field(default_factory=_Allowed)
    flags: list[str] | None = None


class _Partitions(Envelope):
    partitions: list[_Partition] | None = None


class _OnePing(msgspec.Struct):
    hostname: str = ""
    pinged: str = ""
    responding: bool = False  # v0.0.45 has only this


class _Slurm(msgspec.Struct):
    release: str = ""
    cluster: str = ""


class _Meta(msgspec.Struct):
    slurm: _Slurm = msgspec.field(default_factory=_Slurm)


class _Pings(Envelope):
    pings: list[_OnePing] | None = None
    meta: _Meta = msgspec.field(default_factory=_Meta)


class _SignalError(msgspec.Struct):
    code: int | None = None
    string: str | None = None


class _Signalled(msgspec.Struct):
    error: _SignalError | None = None


class _Cancelled(Envelope):
    status: list[_Signalled] | None = None


class V40:
    """The dialect of v0.0.40 and later."""

    def unchanged_query(self, since: int) -> str:
        """With the prefix that all of them take; a bare number is refused by v0.0.40 and v0.0.41."""
        return f"?update_time=uts{since}"

    def is_unchanged(self, answer: Answer) -> bool:
        """Status 200, no jobs, and a warning that says so."""
        if UNCHANGED.encode() not in answer.body[-4096:]:
            return False
        wire = decode(answer.body, _Jobs)
        return not wire.jobs and any(UNCHANGED in (entry.description or "") for entry in wire.warnings or ())

    def encode_submit(self, request: SubmitRequest) -> JSONDict:
        """The environment as a list; GPUs as TRES only (`gres` is dropped with a warning)."""
        environment = [f"{name}={value}" for name, value in request.environment.items()]
        return body_of(request, encode_v40, environment)

    def accepted(self, answer: Answer) -> SubmitResult | None:
        """With a job id, errors and warnings are both warnings."""
        wire = decode(answer.body, Submitted)
        if not wire.job_id:
            return None
        return SubmitResult(job_id=JobId(wire.job_id), warnings=texts(wire.errors, wire.warnings))

    def check_cancel(self, answer: Answer) -> None:
        """An unknown job is told only in `status`, and in v0.0.40 and v0.0.41 not at all."""
        wire = opened(answer, _Cancelled)
        for one in wire.status or ():
            if one.error is not None and one.error.code == JOB_UNKNOWN:
                entry = ErrorEntry(error=one.error.string, error_number=one.error.code)
                raise from_entries([entry], status=answer.status, seconds=answer.seconds)

    def jobs(self, answer: Answer) -> JobList:
        """All records of an answer."""
        wire = opened(answer, _Jobs)
        return JobList(jobs=tuple(map(_job, present(wire.jobs))), last_update=moment(wire.last_update))

    def nodes(self, answer: Answer) -> tuple[NodeRecord, ...]:
        """All nodes of an answer."""
        return tuple(map(_node, present(opened(answer, _Nodes).nodes)))

    def partitions(self, answer: Answer) -> tuple[PartitionRecord, ...]:
        """All partitions of an answer."""
        return tuple(map(_partition, present(opened(answer, _Partitions).partitions)))

    def diag(self, answer: Answer) -> Diag:
        """The controller's clock and counts."""
        return read_diag(answer)

    def ping(self, answer: Answer) -> Ping:
        """Whether any controller answers."""
        wire = opened(answer, _Pings)
        up = [one for one in present(wire.pings) if one.responding or one.pinged == "UP"]
        return Ping(
            responding=bool(up),
            release=wire.meta.slurm.release,
            cluster=wire.meta.slurm.cluster,
            controller=up[0].hostname if up else "",
        )


def _job(job: _Job) -> JobRecord:
    state, flags = main_state(job.job_state)
    output = job.stdout_expanded if job.stdout_expanded is not None else job.standard_output
    error = job.stderr_expanded if job.stderr_expanded is not None else job.standard_error
    return job_record(
        job,
        state=state,
        flags=flags,
        time_limit=number(job.time_limit),
        exit_code=_exit_code(job.exit_code) if state in FINISHED_STATES and job.exit_code else None,
        expanded=(output, error or "") if output and NO_TASK not in output else None,
    )


def _exit_code(code: _Exit) -> ExitCode:
    return ExitCode(
        status=count(code.return_code),
        signal=count(code.signal.id) if code.signal else 0,
        core_dumped="CORE_DUMPED" in (code.status or ()),
    )


def _node(node: _Node) -> NodeRecord:
    return node_record(
        node,
        state=node.state[0] if node.state else "UNKNOWN",
        flags=node.state[1:],
        memory_free=node.free_mem,
        features=",".join(node.features or ()),
        version=node.version or "",
    )


def _partition(part: _Partition) -> PartitionRecord:
    longest = number(part.maximums.time)
    return PartitionRecord(
        name=part.name,
        state=part.partition.state[0].upper() if part.partition.state else "UNKNOWN",
        is_default="DEFAULT" in (part.flags or ()),
        nodes=part.nodes.configured,
        total_nodes=count(part.nodes.total),
        total_cpus=count(part.cpus.total),
        max_time=UNLIMITED if longest is None else longest,
        default_time=number(part.defaults.time),
        max_nodes=number(part.maximums.nodes),
        gpus=parse_gpus(part.tres.configured),
        tres=part.tres.configured,
        qos=part.qos.assigned,
        allowed_accounts=part.accounts.allowed,
    )
