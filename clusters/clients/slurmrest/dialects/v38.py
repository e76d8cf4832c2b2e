"""v0.0.38 (Slurm 22.05 to 23.11): plain numbers with null, one word as state, raw wait statuses.

Seen in runs of Debian 12's slurmrestd 22.05.8. Requests that kill it are never made here: `argv` and
`batch_features` in a job, and ids that are no numbers.
"""

from __future__ import annotations

import msgspec

from clusters.clients.slurmrest.changes import JobChanges, UpdateResult
from clusters.clients.slurmrest.dialects.answers import Submitted, read_diag, read_licenses, read_reservations
from clusters.clients.slurmrest.dialects.base import opened, present
from clusters.clients.slurmrest.dialects.records import (
    JobFields,
    NodeFields,
    job_record,
    node_record,
    texts,
)
from clusters.clients.slurmrest.dialects.submit import body_of
from clusters.clients.slurmrest.dialects.submit_v38 import encode_v38
from clusters.clients.slurmrest.dialects.updates import read_update, shared_changes
from clusters.clients.slurmrest.dialects.words import exit_code_of, one_word
from clusters.clients.slurmrest.gres import parse_gpus
from clusters.clients.slurmrest.listings import JobState, LicenseRecord, ReservationRecord
from clusters.clients.slurmrest.models import (
    UNLIMITED,
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
from clusters.clients.slurmrest.wire import Envelope, WireNumber, count, decode, number
from portal.lib.http import Answer
from portal.lib.types import JSONDict


class _Job(JobFields, kw_only=True):
    job_state: str
    exit_code: WireNumber = None


class _Jobs(Envelope):
    jobs: list[_Job] | None = None


class _Node(NodeFields, kw_only=True):
    state: str
    state_flags: list[str] | None = None
    free_memory: WireNumber = None
    features: str | None = None
    slurmd_version: str | None = None


class _Nodes(Envelope):
    nodes: list[_Node] | None = None


class _Partition(msgspec.Struct):
    name: str
    state: str
    flags: list[str] | None = None
    nodes: str | None = None
    total_nodes: WireNumber = None
    total_cpus: WireNumber = None
    max_time_limit: WireNumber = None
    default_time_limit: WireNumber = None
    maximum_nodes_per_job: WireNumber = None
    tres: str | None = None
    qos: str | None = None
    allowed_accounts: str | None = None
    denied_accounts: str | None = None
    allowed_qos: str | None = None
    denied_qos: str | None = None


class _Partitions(Envelope):
    partitions: list[_Partition] | None = None


class _OnePing(msgspec.Struct):
    ping: str = ""
    hostname: str = ""


class _Release(msgspec.Struct):
    release: str = ""


class _Meta(msgspec.Struct):
    slurm: _Release | None = msgspec.field(default=None, name="Slurm")


class _Pings(Envelope):
    pings: list[_OnePing] | None = None
    meta: _Meta | None = None


class V38:
    """The dialect of v0.0.38."""

    ping_hides_token = False
    ignores = frozenset({"name"})
    updates_tasks = True
    cancels_tasks = True
    must_own_to_cancel = False
    lists_states = False

    def unchanged_query(self, since: int) -> str:
        """Plain epoch seconds."""
        return f"?update_time={since}"

    def is_unchanged(self, answer: Answer) -> bool:
        """Status 304 with an empty body."""
        return answer.status == 304

    def encode_submit(self, request: SubmitRequest) -> JSONDict:
        """The script beside the job; the environment as a dictionary."""
        return body_of(request, encode_v38, dict(request.environment))

    def accepted(self, answer: Answer) -> SubmitResult | None:
        """With a job id, "errors" are warnings: held, over a partition's limit, nodes down."""
        wire = decode(answer.body, Submitted)
        return SubmitResult(job_id=JobId(wire.job_id), warnings=texts(wire.errors)) if wire.job_id else None

    def check_cancel(self, answer: Answer) -> None:
        """Errors may come with status 200."""
        opened(answer, Envelope)

    def encode_update(self, changes: JobChanges) -> JSONDict:
        """The keys by themselves, in the forms of a submit."""
        keys = shared_changes(changes)
        if changes.time_limit_minutes is not None:
            unlimited = changes.time_limit_minutes is UNLIMITED
            keys["time_limit"] = "UNLIMITED" if unlimited else changes.time_limit_minutes
        if changes.requeue is not None:  # `requeue: false` is ignored
            keys["requeue" if changes.requeue else "no_requeue"] = True
        if changes.begin is not None:
            keys["begin_time"] = f"uts{changes.begin}"
        for key, amount in (
            ("priority", changes.priority),
            ("memory_per_node", changes.memory_mib),
            ("memory_per_cpu", changes.memory_per_cpu_mib),
        ):
            if amount is not None:
                keys[key] = amount
        return keys

    def updated(self, answer: Answer) -> UpdateResult:
        """Errors may come with status 200; one of them says nothing."""
        return read_update(answer)

    def states(self, answer: Answer) -> tuple[JobState, ...]:
        """There is no such list."""
        raise NotImplementedError

    def reservations(self, answer: Answer) -> tuple[ReservationRecord, ...]:
        """All reservations of an answer."""
        return read_reservations(answer)

    def licenses(self, answer: Answer) -> tuple[LicenseRecord, ...]:
        """All licenses of an answer."""
        return read_licenses(answer)

    def jobs(self, answer: Answer) -> JobList:
        """All records of an answer."""
        return JobList(jobs=tuple(map(_job, present(opened(answer, _Jobs).jobs))))

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
        up = [one for one in present(wire.pings) if one.ping == "UP"]
        return Ping(
            responding=bool(up),
            release=wire.meta.slurm.release if wire.meta and wire.meta.slurm else "",
            controller=up[0].hostname if up else "",
        )


def _job(job: _Job) -> JobRecord:
    state, flags, ended = one_word(job.job_state)
    limit = number(job.time_limit)
    if number(job.memory_per_node) is None and number(job.memory_per_cpu) is None:
        job.memory_per_node = 0  # "all of the node" is written as no number at all
    return job_record(
        job,
        state=state,
        flags=flags,
        time_limit=UNLIMITED if limit is None else limit,  # null is "no limit": a job always has one
        exit_code=exit_code_of(count(job.exit_code)) if ended else None,
    )


def _node(node: _Node) -> NodeRecord:
    return node_record(
        node,
        state=node.state,
        flags=node.state_flags or (),
        memory_free=node.free_memory,
        features=node.features or "",
        version=node.slurmd_version or "",
    )


def _partition(part: _Partition) -> PartitionRecord:
    longest = number(part.max_time_limit)
    most = number(part.maximum_nodes_per_job)
    return PartitionRecord(
        name=part.name,
        state=part.state.upper(),
        is_default="default" in (part.flags or ()),
        nodes=part.nodes or "",
        total_nodes=count(part.total_nodes),
        total_cpus=count(part.total_cpus),
        max_time=UNLIMITED if longest is None else longest,  # null is "no limit" here too
        default_time=number(part.default_time_limit),
        max_nodes=UNLIMITED if most is None else most,
        gpus=parse_gpus(part.tres or ""),
        tres=part.tres or "",
        qos=part.qos or "",
        allowed_accounts=part.allowed_accounts or "",
        denied_accounts=part.denied_accounts or "",
        allowed_qos=part.allowed_qos or "",
        denied_qos=part.denied_qos or "",
    )
