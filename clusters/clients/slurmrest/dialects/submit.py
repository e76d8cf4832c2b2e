"""The part of a submit that all families write alike, and what must never be sent to any of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from msgspec.structs import astuple

from clusters.clients.slurmrest.models import JobSpec, SubmitRequest
from portal.lib.types import JSONDict

CONTROL: Final = re.compile(r"[\x00-\x1f]")
LONGEST_TEXT = 1024  # of a name or comment; beyond it slurmctld says "Pathname too long"
LONGEST_SCRIPT = 3 * 1024 * 1024  # 4 MiB is refused
LONGEST_VALUE = 128 * 1024 - 1  # of one NAME=value, by the kernel
LONGEST_ENVIRONMENT = 1024 * 1024  # in all; beyond about 2 MB the job fails with "Argument list too long"

NEWEST: Final = 9999  # versions to come are taken to be as the newest one
_ALL: Final = range(36, NEWEST)
_OBJECTS: Final = range(39, NEWEST)

# a field that some API versions cannot carry: those that can
CARRIED: Final[Mapping[str, tuple[range, ...]]] = {
    **dict.fromkeys(
        ("node_sizes", "min_nodes", "tres_per_task", "tres_bind", "contiguous", "overcommit", "reboot"),
        (_OBJECTS,),
    ),
    **dict.fromkeys(
        ("switches", "switches_wait", "network", "extra", "selinux_context", "container_id"), (_OBJECTS,)
    ),
    "distribution": (_OBJECTS,),  # taken and dropped by Slurm 22.05
    "warning_batch": (_OBJECTS,),
    "batch_constraint": (_OBJECTS,),  # kills slurmrestd of Slurm 22.05
    "cores_per_socket": (range(36, 39), range(40, 41), range(45, NEWEST)),
    "step_manager": (range(41, NEWEST),),
    "oom_kill_step": (range(42, NEWEST),),
    "segment_size": (range(42, NEWEST),),
    **dict.fromkeys(
        ("container_type", "memory_update", "spread_segments", "consolidate_segments", "requeue_expedited"),
        (range(45, NEWEST),),
    ),
}


def can_carry(field: str, version: str) -> bool:
    """Whether a version such as "v0.0.38" has a key for a field of JobSpec."""
    number = int(version.rpartition(".")[2])
    return any(number in span for span in CARRIED.get(field, (_ALL,)))


def check_submit(request: SubmitRequest, version: str) -> None:
    """Raise ValueError for what slurmrestd takes without a word, and the job then fails of.

    The sbatch client checks these; over REST nobody does. Forms check them before with better words.
    """
    script = request.script
    if not script.startswith("#!") or "\r" in script or "\0" in script:
        raise ValueError("A script begins with #! and holds neither CR nor NUL.")
    if len(script.encode()) > LONGEST_SCRIPT:
        raise ValueError("The script is longer than 3 MiB.")
    _check_environment(request.environment)
    for spec in (request, *request.components):
        _check_carried(spec, version)
        _check_texts(spec)
        _check_amounts(spec)


def _check_carried(spec: JobSpec, version: str) -> None:
    lost = [name for name in _not_carried(version) if getattr(spec, name) is not None]
    if lost:
        raise ValueError(f"The cluster's API {version} cannot carry: {', '.join(lost)}.")


@cache
def _not_carried(version: str) -> tuple[str, ...]:
    return tuple(name for name in CARRIED if not can_carry(name, version))


def _check_texts(spec: JobSpec) -> None:
    for text in _texts(spec):
        if CONTROL.search(text):
            raise ValueError("Names, paths and comments hold no control characters.")
        if len(text.encode()) > LONGEST_TEXT:
            raise ValueError(f"Names, paths and comments have at most {LONGEST_TEXT} bytes.")


def _check_amounts(spec: JobSpec) -> None:
    for amount in (spec.tasks, spec.cpus_per_task, spec.time_limit_minutes):
        if isinstance(amount, int) and amount < 1:
            raise ValueError("Counts and times are at least 1.")
    if spec.gpus is not None and spec.gpus.count < 1:
        raise ValueError("No GPUs are asked for by leaving them out.")
    if spec.nodes is not None and spec.nodes < 1:
        raise ValueError("Counts and times are at least 1.")
    memory = (spec.memory_mib, spec.memory_per_cpu_mib, spec.memory_per_gpu_mib)
    if sum(amount is not None for amount in memory) > 1:
        raise ValueError("Memory is given for each node, for each CPU or for each GPU, not for several.")


def _check_environment(environment: dict[str, str]) -> None:
    if not environment:
        raise ValueError("slurmctld refuses a job without an environment.")
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError("An environment name is not empty and holds no '='; neither holds NUL.")
        if len(f"{name}={value}".encode()) > LONGEST_VALUE:
            raise ValueError(f"The environment variable {name[:40]} is longer than 128 KiB.")
    if sum(len(name) + len(value.encode()) + 2 for name, value in environment.items()) > LONGEST_ENVIRONMENT:
        raise ValueError("The environment is larger than 1 MiB in all.")


def _texts(spec: JobSpec) -> Iterator[str]:
    """Of all fields but the script."""
    for value in astuple(spec)[: len(JobSpec.__struct_fields__)]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, str))
    if spec.gpus is not None:
        yield spec.gpus.model


# our field: Slurm's key, where all families take the same key and form
SHARED: Final[Mapping[str, str]] = {
    "name": "name",
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "reservation": "reservation",
    "tasks": "tasks",
    "tasks_per_node": "tasks_per_node",
    "tasks_per_socket": "tasks_per_socket",
    "tasks_per_core": "tasks_per_core",
    "tasks_per_gpu": "ntasks_per_tres",
    "cpus_per_task": "cpus_per_task",
    "min_cpus_per_node": "minimum_cpus_per_node",
    "sockets_per_node": "sockets_per_node",
    "cores_per_socket": "cores_per_socket",
    "threads_per_core": "threads_per_core",
    "temporary_disk_mib": "temporary_disk_per_node",
    "constraint": "constraints",
    "prefer": "prefer",
    "core_spec": "core_specification",
    "thread_spec": "thread_specification",
    "distribution": "distribution",
    "cpu_frequency": "cpu_frequency",
    "accounting_frequency": "account_gather_frequency",
    "licenses": "licenses",
    "wckey": "wckey",
    "mcs_label": "mcs_label",
    "burst_buffer": "burst_buffer",
    "container": "container",
    "mail_user": "mail_user",
    "working_directory": "current_working_directory",
    "stdin": "standard_input",
    "stdout": "standard_output",
    "stderr": "standard_error",
    "comment": "comment",
    "dependency": "dependency",
    "array": "array",
    "nice": "nice",
}


def shared_keys(spec: JobSpec) -> JSONDict:
    """The keys of the job that have one form everywhere; what is None is left out."""
    keys: JSONDict = {key: getattr(spec, name) for name, key in SHARED.items()}
    keys["nodes"] = nodes_text(spec)
    keys["hold"] = spec.hold or None
    return {key: value for key, value in keys.items() if value is not None}


def nodes_text(spec: JobSpec) -> str | None:
    """Always a string: a list is silently ignored by v0.0.38, whatever the documentation says."""
    if spec.node_sizes is not None:
        return spec.node_sizes
    if spec.nodes is None:
        return None
    return str(spec.nodes) if spec.max_nodes is None else f"{spec.nodes}-{spec.max_nodes}"


def body_of(request: SubmitRequest, encode: Callable[[JobSpec], JSONDict], environment: object) -> JSONDict:
    """The whole body: one job, or the list of a heterogeneous job's components, each with the environment."""
    jobs = [encode(spec) | {"environment": environment} for spec in (request, *request.components)]
    return {"script": request.script} | ({"jobs": jobs} if request.components else {"job": jobs[0]})
