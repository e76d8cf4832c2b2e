"""What all families share: the keys that are named alike, and the way from them to our records."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clusters.clients.slurmrest.errors import ErrorEntry
from clusters.clients.slurmrest.gres import NO_GPUS, Gpus, add_gpus, parse_gpus
from clusters.clients.slurmrest.models import MAIN_STATES, ExitCode, JobId, JobRecord, Limit, NodeRecord
from clusters.clients.slurmrest.wire import WireNumber, count, moment, number


class JobFields(msgspec.Struct, kw_only=True):
    """The keys of a job record that every version has; numbers in any of the forms."""

    job_id: int
    name: str | None = None
    state_reason: str | None = None
    state_description: str | None = None
    user_name: str | None = None
    user_id: WireNumber = None
    group_id: WireNumber = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    comment: str | None = None
    array_job_id: WireNumber = None
    array_task_id: WireNumber = None
    array_task_string: str | None = None
    het_job_id: WireNumber = None
    het_job_offset: WireNumber = None
    submit_time: WireNumber = None
    eligible_time: WireNumber = None
    start_time: WireNumber = None
    end_time: WireNumber = None
    time_limit: WireNumber = None
    nodes: str | None = None
    batch_host: str | None = None
    node_count: WireNumber = None
    cpus: WireNumber = None
    tasks: WireNumber = None
    cpus_per_task: WireNumber = None
    memory_per_node: WireNumber = None
    memory_per_cpu: WireNumber = None
    gres_detail: list[str] | None = None
    tres_req_str: str | None = None
    tres_alloc_str: str | None = None
    tres_per_job: str | None = None
    tres_per_node: str | None = None
    tres_per_task: str | None = None
    priority: WireNumber = None
    restart_cnt: WireNumber = None
    dependency: str | None = None
    resv_name: str | None = None
    features: str | None = None
    current_working_directory: str | None = None
    standard_input: str | None = None
    standard_output: str | None = None
    standard_error: str | None = None


class NodeFields(msgspec.Struct, kw_only=True):
    """The keys of a node that every version has."""

    name: str
    partitions: list[str] | None = None
    address: str | None = None
    cpus: WireNumber = None
    alloc_cpus: WireNumber = None
    real_memory: WireNumber = None
    alloc_memory: WireNumber = None
    gres: str | None = None
    gres_used: str | None = None
    reason: str | None = None
    reason_set_by_user: str | None = None
    reason_changed_at: WireNumber = None
    boot_time: WireNumber = None


def main_state(words: Iterable[str]) -> tuple[str, frozenset[str]]:
    """The main state among the words, and the flags beside it."""
    upper = [word.upper() for word in words]
    state = next((word for word in upper if word in MAIN_STATES), "UNKNOWN")
    return state, frozenset(word for word in upper if word != state)


def job_record(
    job: JobFields,
    *,
    state: str,
    flags: frozenset[str],
    time_limit: Limit,
    exit_code: ExitCode | None,
    expanded: tuple[str, str] | None = None,
) -> JobRecord:
    """Our record. `expanded` holds the paths of output and error where Slurm expanded them."""
    array = moment(job.array_job_id)
    task = number(job.array_task_id)
    het = moment(job.het_job_id)
    priority = number(job.priority)
    output, error = expanded or (job.standard_output or "", job.standard_error or "")
    return JobRecord(
        job_id=JobId(job.job_id),
        name=job.name or "",
        state=state,
        flags=flags,
        reason="" if job.state_reason in {None, "None"} else str(job.state_reason),
        reason_detail=job.state_description or "",
        user_name=job.user_name or None,
        user_id=_whole(job.user_id),
        group_id=_whole(job.group_id),
        account=job.account or "",
        partition=job.partition or "",
        qos=job.qos or "",
        comment=job.comment or "",
        array_job_id=array,
        array_task_id=task if array and isinstance(task, int) else None,
        array_task_string=job.array_task_string or "",
        het_job_id=het,
        het_job_offset=count(job.het_job_offset) if het else None,
        submit_time=moment(job.submit_time),
        eligible_time=moment(job.eligible_time),
        start_time=moment(job.start_time),
        end_time=moment(job.end_time),
        time_limit=time_limit,
        nodes=job.nodes or "",
        batch_host=job.batch_host or "",
        node_count=number(job.node_count),
        cpus=number(job.cpus),
        tasks=number(job.tasks),
        cpus_per_task=number(job.cpus_per_task),
        memory_per_node=number(job.memory_per_node),
        memory_per_cpu=number(job.memory_per_cpu),
        gpus=_job_gpus(job),
        gres_detail=tuple(job.gres_detail or ()),
        tres_requested=job.tres_req_str or "",
        tres_allocated=job.tres_alloc_str or "",
        exit_code=exit_code,
        priority=priority,
        hold=priority == 0 and state == "PENDING",
        restarts=count(job.restart_cnt),
        dependency=job.dependency or "",
        reservation=job.resv_name or "",
        features=job.features or "",
        working_directory=job.current_working_directory or "",
        standard_input=job.standard_input or "",
        standard_output=output,
        standard_error=error,
        paths_expanded=expanded is not None,
    )


def node_record(
    node: NodeFields,
    *,
    state: str,
    flags: Iterable[str],
    memory_free: WireNumber,
    features: str,
    version: str,
) -> NodeRecord:
    """Our record of a node."""
    return NodeRecord(
        name=node.name,
        state=state.upper(),
        flags=frozenset(flag.upper() for flag in flags),
        partitions=tuple(node.partitions or ()),
        address=node.address or "",
        cpus=count(node.cpus),
        cpus_allocated=count(node.alloc_cpus),
        memory=count(node.real_memory),
        memory_allocated=count(node.alloc_memory),
        memory_free=count(memory_free) or None,
        gpus=parse_gpus(node.gres or ""),
        gpus_allocated=parse_gpus(node.gres_used or ""),
        features=features,
        reason=node.reason or "",
        reason_by=node.reason_set_by_user or "",
        reason_at=moment(node.reason_changed_at),
        boot_time=moment(node.boot_time),
        slurmd_version=version,
    )


def texts(*entries: list[ErrorEntry] | None) -> tuple[str, ...]:
    """Slurm's own words, each once."""
    return tuple(dict.fromkeys(e.text for some in entries for e in some or () if e.text))


def _whole(value: WireNumber) -> int | None:
    read = number(value)
    return read if isinstance(read, int) else None


def _job_gpus(job: JobFields) -> Gpus:
    held = add_gpus(map(parse_gpus, job.gres_detail or ()))
    if held.total:
        return held
    for text, times in (
        (job.tres_alloc_str, 1),
        (job.tres_req_str, 1),
        (job.tres_per_job, 1),
        (job.tres_per_node, count(job.node_count, 1)),
        (job.tres_per_task, count(job.tasks, 1)),
    ):
        found = parse_gpus(text or "")
        if found.total:
            return add_gpus([found] * min(times, 100_000)) if times != 1 else found
    return NO_GPUS
