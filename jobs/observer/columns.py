"""From a record of Slurm's to the columns of a Job row."""

from __future__ import annotations

import datetime as dt

from clusters.clients.slurmrest.models import FINISHED_STATES, JobRecord, Limit
from jobs.models import JobState
from jobs.observer.marks import split_mark
from jobs.parsing.array import count_tasks
from jobs.parsing.paths import output_paths
from portal.lib.types import JSONDict

_MOST_INT = 2**31 - 1
_MOST_BIGINT = 2**63 - 1
_NO_EXIT = frozenset({JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED})
OUR_CHECKS = frozenset({"freehold-probe", "freehold-smoke"})  # the portal's own checks of a cluster


def is_our_check(record: JobRecord) -> bool:
    """A job by which provisioning proved that the cluster works; no one's job."""
    return record.name in OUR_CHECKS and not split_mark(record.comment)[1]


def columns_of(record: JobRecord) -> JSONDict:
    """All columns that Slurm decides; identity, owner and the times of our looks are not among them."""
    comment, mark = split_mark(record.comment)
    output, error = output_paths(record)
    state = state_of(record)
    return {
        "array_job_id": record.array_job_id,
        "array_task_id": record.array_task_id,
        "array_tasks": _cut(record.array_task_string, 200) if record.array_task_id is None else "",
        "task_count": tasks_of(record),
        "het_job_id": record.het_job_id or None,
        "het_offset": _small(record.het_job_offset) if record.het_job_id else None,
        "name": _cut(record.name, 1024),
        "user_name": _cut(record.user_name or "", 64),
        "partition": _cut(record.partition, 200),
        "account": _cut(record.account, 200),
        "qos": _cut(record.qos, 200),
        "state": state,
        "flags": sorted(record.flags),
        "reason": _cut("" if record.reason == "None" else record.reason, 200),
        "nodes": record.nodes,
        "node_count": _small(record.node_count),
        "cpus": _small(record.cpus),
        "gpus": _small(record.gpus.total),
        "memory_mib": _large(record.memory_per_node),
        "memory_per_cpu_mib": _large(record.memory_per_cpu),
        "time_limit_minutes": _large(record.time_limit),
        "exit_status": record.exit_code.status if record.exit_code and state not in _NO_EXIT else None,
        "exit_signal": record.exit_code.signal if record.exit_code and state not in _NO_EXIT else None,
        "submit_time": moment(record.submit_time) or dt.datetime.fromtimestamp(0, tz=dt.UTC),
        "eligible_time": moment(record.eligible_time),
        "start_time": moment(record.start_time),
        "end_time": moment(record.end_time),
        "working_directory": record.working_directory,
        "stdout_path": output,
        "stderr_path": error,
        "comment": comment,
        "mark": mark,
        "restarts": _small(record.restarts) or 0,
    }


def state_of(record: JobRecord) -> JobState:
    """Slurm's state; a job that still cleans up is completing; an unheard-of state is not "completed"."""
    if "COMPLETING" in record.flags:
        return JobState.COMPLETING
    if record.state in FINISHED_STATES or record.state in {"PENDING", "RUNNING", "SUSPENDED"}:
        return JobState(record.state)
    return JobState.PENDING if record.start_time is None else JobState.RUNNING


def moment(seconds: int | None) -> dt.datetime | None:
    """Epoch seconds as an aware moment; None for none and for what no calendar holds."""
    if not seconds or not 0 < seconds < 2**37:
        return None
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC)


def tasks_of(record: JobRecord) -> int:
    """For how many tasks it stands: more than one for the waiting rest of an array."""
    is_folded = record.array_job_id is not None and record.array_task_id is None
    return (_small(count_tasks(record.array_task_string)) if is_folded else None) or 1


def _small(value: Limit) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _MOST_INT else None


def _large(value: Limit) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= _MOST_BIGINT else None


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
