"""v0.0.40 to v0.0.45 (Slurm 23.11 to 26.05): optional numbers as objects, states as lists.

Seen in answers of Debian's slurmrestd 24.11.5 and 26.05.5. Unknown keys of a submit are dropped there
with a warning, so every key that we send is one that these versions name.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.dialects.answers import Submitted, read_diag, read_licenses, read_reservations
from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.dialects.leftovers import NO_TASK, finish_paths
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
from clusters.clients.slurmrest.dialects.updates import read_update, shared_changes
from clusters.clients.slurmrest.errors import ALREADY_DONE, BadAnswer, ErrorEntry, clean, from_entries
from clusters.clients.slurmrest.gres import parse_gpus
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    FINISHED_STATES,
    UNLIMITED,
    Diag,
    ExitCode,
    JobId,
    JobList,
    JobRecord,
    Limit,
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
STATE_ID: Final = re.compile(r"(?P<number>\d+)(?:_(?P<task>\d+|\*))?(?:\+(?P<offset>\d+))?", re.ASCII)


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


class _Unread(Envelope):
    jobs: list[msgspec.Raw] | None = None


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


class _Allowed(msgspec.Struct):
    allowed: str = ""
    deny: str = ""
    assigned: str = ""  # of QOS only


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
    qos: _Allowed = msgspec.field(default_factory=_Allowed)
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


class _State(msgspec.Struct):
    job_id: str | int
    state: list[str]


class _StateList(Envelope):
    jobs: list[_State] | None = None


class V40:
    """The dialect of v0.0.40 and later."""

    ping_hides_token = True  # a dead one looks like a controller that does not answer

    ignores: frozenset[str] = frozenset()
    updates_tasks = False  # 422: "Submit job update against Array Job's JobID"
    cancels_tasks = True
    # Without slurmdbd, slurmctld 24.11 and 26.05 stand still for ever when one account cancels another's
    # job: they wait for a lock that they hold themselves (assoc_mgr_get_admin_level_locked). With slurmdbd
    # v0.0.40 and v0.0.41 answer 200 and do nothing.
    must_own_to_cancel = True
    lists_states = True

    def unchanged_query(self, since: int) -> str:
        """With the prefix that all of them take; a bare number is refused by v0.0.40 and v0.0.41."""
        return f"?update_time=uts{since}"

    def is_unchanged(self, answer: Answer) -> bool:
        """Status 200, no jobs, and a warning that says so."""
        if UNCHANGED.encode() not in answer.body[-4096:]:
            return False
        wire = decode(answer.body, _Unread)
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
        """A refusal is told only in `status`, and in v0.0.40 and v0.0.41 not at all."""
        wire = opened(answer, _Cancelled)
        for one in wire.status or ():
            if one.error is not None and one.error.code and one.error.code != ALREADY_DONE:
                entry = ErrorEntry(error=one.error.string, error_number=one.error.code)
                raise from_entries([entry], status=answer.status, seconds=answer.seconds)

    def encode_update(self, changes: JobChanges) -> JSONDict:
        """The keys by themselves; optional numbers as objects."""
        keys = shared_changes(changes)
        if changes.requeue is not None:
            keys["requeue"] = changes.requeue
        for key, amount in (
            ("time_limit", changes.time_limit_minutes),
            ("begin_time", changes.begin),
            ("priority", changes.priority),
            ("memory_per_node", changes.memory_mib),
            ("memory_per_cpu", changes.memory_per_cpu_mib),
        ):
            if amount is not None:
                keys[key] = _object(amount)
        return keys

    def updated(self, answer: Answer) -> UpdateResult:
        """What was refused of an array stands in `results`."""
        return read_update(answer)

    def states(self, answer: Answer) -> tuple[JobState, ...]:
        """All lines of the short list."""
        return tuple(map(_state, present(opened(answer, _StateList).jobs)))

    def reservations(self, answer: Answer) -> tuple[ReservationRecord, ...]:
        """All reservations of an answer."""
        return read_reservations(answer)

    def licenses(self, answer: Answer) -> tuple[LicenseRecord, ...]:
        """All licenses of an answer."""
        return read_licenses(answer)

    def jobs(self, answer: Answer) -> JobList:
        """All records of an answer."""
        wire = opened(answer, _Jobs)
        return JobList(jobs=tuple(map(_job, present(wire.jobs))), last_update=moment(wire.last_update))

    def nodes(self, answer: Answer) -> tuple[NodeRecord, ...]:
        """All nodes of an answer."""
        return tuple(map(_node, present(opened(answer, _Nodes).nodes)))

    def partitions(self, answer: Answer) -> tuple[PartitionRecord, ...]:
        """All partitions of an answer. Which is the default is told from v0.0.45 on; an only one is it."""
        wire = present(opened(answer, _Partitions).partitions)
        return tuple(_partition(part, is_only=len(wire) == 1) for part in wire)

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


def _object(amount: Limit) -> JSONDict:
    if amount is UNLIMITED:
        return {"set": False, "infinite": True, "number": 0}
    return {"set": True, "number": amount}


def _state(line: _State) -> JobState:
    """From "12", "12_3", "12_*" (of an array, what is left when every task has a record) or "12+1"."""
    match = STATE_ID.fullmatch(str(line.job_id))
    if match is None:
        raise BadAnswer("The cluster's Slurm API names a job in an unknown way.", clean(str(line.job_id), 60))
    state, flags = main_state(line.state)
    task, offset = match["task"], match["offset"]
    return JobState(
        number=int(match["number"]),
        state=state,
        flags=flags,
        task=int(task) if task and task != "*" else None,
        is_array=task == "*",
        het_offset=int(offset) if offset else None,
    )


def _job(job: _Job) -> JobRecord:
    state, flags = main_state(job.job_state)
    return job_record(
        job,
        state=state,
        flags=flags,
        time_limit=number(job.time_limit),
        exit_code=_exit_code(job.exit_code) if state in FINISHED_STATES and job.exit_code else None,
        expanded=_paths(job),
    )


def _paths(job: _Job) -> tuple[str, str] | None:
    output = job.stdout_expanded
    if output is None:
        return finish_paths(job)
    return (output, job.stderr_expanded or "") if output and NO_TASK not in output else None


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


def _partition(part: _Partition, *, is_only: bool) -> PartitionRecord:
    longest = number(part.maximums.time)
    return PartitionRecord(
        name=part.name,
        state=part.partition.state[0].upper() if part.partition.state else "UNKNOWN",
        is_default=is_only or "DEFAULT" in (part.flags or ()),
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
        denied_accounts=part.accounts.deny,
        allowed_qos=part.qos.allowed,
        denied_qos=part.qos.deny,
    )
