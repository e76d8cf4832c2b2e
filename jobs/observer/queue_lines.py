"""From a line of the queue to a record, and from its words to Slurm's states."""

from __future__ import annotations

from clusters.clients.slurm_console.lines import QueueLine
from clusters.clients.slurmrest.gres import parse_gpus
from clusters.clients.slurmrest.models import FINISHED_STATES, JobId, JobRecord

_MAIN = frozenset({"PENDING", "RUNNING", "SUSPENDED"})
_AT_WORK = frozenset({"CONFIGURING", "RESIZING", "SIGNALING", "STOPPED"})
_CLEANS_UP = frozenset({"COMPLETING", "STAGE_OUT"})


def record_of(line: QueueLine) -> JobRecord:
    """What the line tells, as a record that lacks exit code, paths and memory."""
    state, flags = _state_of(line.state)
    return JobRecord(
        job_id=JobId(line.job_id),
        name=line.name,
        state=state,
        flags=flags,
        reason=line.reason.partition(",")[0],  # after a comma stand the nodes that are missed
        user_name=line.user_name,
        account=line.account,
        partition=line.partition,
        qos=line.qos,
        comment=line.comment,
        array_job_id=line.array_job_id,
        array_task_id=line.array_task_id,
        array_task_string=line.array_task_string,
        het_job_id=line.het_job_id,
        het_job_offset=line.het_job_offset,
        submit_time=line.submit_time,
        start_time=line.start_time,
        end_time=None if state == "PENDING" else line.end_time,
        time_limit=line.time_limit,
        nodes=line.nodes,
        node_count=line.node_count,
        cpus=line.cpus,
        gpus=parse_gpus(line.gres),
    )


def is_finished(line: QueueLine) -> bool:
    """Whether the job ended: then its exit code is worth asking for."""
    return line.state in FINISHED_STATES


def _state_of(word: str) -> tuple[str, frozenset[str]]:
    if word in _MAIN or word in FINISHED_STATES:
        return word, frozenset()
    if word in _CLEANS_UP:
        return "RUNNING", frozenset({"COMPLETING"})
    if word in _AT_WORK:
        return "RUNNING", frozenset({word})
    return "PENDING", frozenset({word})
