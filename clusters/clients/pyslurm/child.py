"""The child: imports pyslurm (GPL-2.0-only), which may end the process, and answers each line with one line.

It is a program of its own and imports nothing of the portal's. An answer has the form of slurmrestd's
v0.0.38, so that the portal reads it as it reads that; or it is {"trouble": "words"}.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

JOB = {  # a key of v0.0.38: pyslurm's name, and an older one
    "job_id": "id",
    "name": "name",
    "job_state": "state",
    "user_name": "user_name",
    "user_id": "user_id",
    "group_id": "group_id",
    "account": "account",
    "partition": "partition",
    "qos": "qos",
    "comment": "comment",
    "array_job_id": "array_id",
    "array_task_id": "array_task_id",
    "array_task_string": "array_tasks_waiting",
    "het_job_id": "heterogeneous_id",
    "het_job_offset": "heterogeneous_offset",
    "submit_time": "submit_time",
    "eligible_time": "eligible_time",
    "start_time": "start_time",
    "end_time": "end_time",
    "time_limit": "time_limit",
    "nodes": "allocated_nodes",
    "batch_host": "batch_host",
    "node_count": "num_nodes",
    "cpus": "cpus",
    "tasks": "ntasks",
    "cpus_per_task": "cpus_per_task",
    "memory_per_node": "memory_per_node",
    "memory_per_cpu": "memory_per_cpu",
    "priority": "priority",
    "restart_cnt": "requeue_count",
    "resv_name": "reservation",
    "current_working_directory": "working_directory",
    "standard_input": "standard_input",
    "standard_output": "standard_output",
    "standard_error": "standard_error",
}
NODE = {
    "name": "name",
    "partitions": "partitions",
    "address": "address",
    "cpus": "total_cpus",
    "alloc_cpus": "allocated_cpus",
    "real_memory": "real_memory",
    "alloc_memory": "allocated_memory",
    "free_memory": "free_memory",
    "reason": "reason",
    "reason_set_by_user": "reason_user",
    "reason_changed_at": "reason_time",
    "boot_time": "boot_time",
    "slurmd_version": "slurm_version",
}


def jobs(library: Any) -> dict[str, Any]:
    """The answer to "jobs"."""
    return {"errors": [], "jobs": [_job(job) for job in _values(library.Jobs.load())]}


def nodes(library: Any) -> dict[str, Any]:
    """The answer to "nodes"."""
    return {"errors": [], "nodes": [_node(node) for node in _values(library.Nodes.load())]}


def main() -> None:
    """Until the input ends."""
    try:
        library = importlib.import_module("pyslurm")
    except ImportError as error:
        sys.exit(f"pyslurm cannot be imported: {error}")
    asked = {"jobs": jobs, "nodes": nodes}
    for line in sys.stdin:
        try:
            answer = asked[line.strip()](library)
        except Exception as error:  # noqa: BLE001  # the library raises its own kinds; all are told
            answer = {"trouble": f"{type(error).__name__}: {error}"[:300]}
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


def _job(job: Any) -> dict[str, Any]:
    record = {key: getattr(job, name, None) for key, name in JOB.items()}
    reason = getattr(job, "state_reason", None) or ""
    code, signal = getattr(job, "exit_code", None) or 0, getattr(job, "exit_code_signal", None) or 0
    return record | {
        "state_reason": reason.split(" ")[0],
        "state_description": reason,
        "exit_code": (code << 8) | signal,
        "tres_per_node": _gres(getattr(job, "gres_per_node", None)),
        "features": ",".join(getattr(job, "constraints", None) or ()),
    }


def _node(node: Any) -> dict[str, Any]:
    state, *flags = (getattr(node, "state", None) or "UNKNOWN").rstrip("*~#!%$@^-").split("+")
    record = {key: getattr(node, name, None) for key, name in NODE.items()}
    return record | {
        "state": state,
        "state_flags": flags,
        "gres": _gres(getattr(node, "configured_gres", None)),
        "gres_used": _gres(getattr(node, "allocated_gres", None)),
        "features": ",".join(getattr(node, "available_features", None) or ()),
    }


def _gres(found: object) -> str:
    """From {"gpu:a100": 4} or {"gpu:a100": {"count": 4}}."""
    if not isinstance(found, Mapping):
        return ""
    counts = {name: one.get("count", 0) if isinstance(one, Mapping) else one for name, one in found.items()}
    return ",".join(f"{name}:{count}" for name, count in counts.items())


def _values(collection: Mapping[Any, Any]) -> Iterable[Any]:
    """Of a mapping by id, or by cluster and id."""
    for value in collection.values():
        yield from value.values() if isinstance(value, Mapping) else (value,)


if __name__ == "__main__":
    main()
