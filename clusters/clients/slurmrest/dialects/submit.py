"""The part of a submit that all families write alike, and what must never be sent to any of them."""

from __future__ import annotations

from clusters.clients.slurmrest.models import SubmitRequest
from portal.lib.types import JSONDict

LONGEST_TEXT = 1024  # of a name or comment; beyond it slurmctld says "Pathname too long"
LONGEST_SCRIPT = 3 * 1024 * 1024  # 4 MiB is refused
LONGEST_VALUE = 128 * 1024 - 1  # of one NAME=value, by the kernel
LONGEST_ENVIRONMENT = 1024 * 1024  # in all; beyond about 2 MB the job fails with "Argument list too long"


def check_submit(request: SubmitRequest) -> None:
    """Raise ValueError for what slurmrestd takes without a word, and the job then fails of.

    The sbatch client checks these; over REST nobody does. Forms check them before with better words.
    """
    script = request.script
    if not script.startswith("#!") or "\r" in script or "\0" in script:
        raise ValueError("A script begins with #! and holds neither CR nor NUL.")
    if len(script.encode()) > LONGEST_SCRIPT:
        raise ValueError("The script is longer than 3 MiB.")
    _check_environment(request.environment)
    _check_texts(request)
    _check_amounts(request)


def _check_texts(request: SubmitRequest) -> None:
    for text in _texts(request):
        if any(ord(letter) < 32 for letter in text):
            raise ValueError("Names, paths and comments hold no control characters.")
        if len(text.encode()) > LONGEST_TEXT:
            raise ValueError(f"Names, paths and comments have at most {LONGEST_TEXT} bytes.")


def _check_amounts(request: SubmitRequest) -> None:
    for amount in (request.nodes, request.tasks, request.cpus_per_task, request.time_limit_minutes):
        if isinstance(amount, int) and amount < 1:
            raise ValueError("Counts and times are at least 1.")
    if request.gpus is not None and request.gpus.count < 1:
        raise ValueError("No GPUs are asked for by leaving them out.")
    if request.memory_mib is not None and request.memory_per_cpu_mib is not None:
        raise ValueError("Memory is given for each node or for each CPU, not both.")


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


def _texts(request: SubmitRequest) -> list[str]:
    texts = [request.name, request.partition, request.account, request.qos, request.reservation]
    texts += [request.working_directory, request.stdout, request.stderr, request.comment]
    texts += [request.dependency, request.array, request.gpus.model if request.gpus else None]
    return [text for text in texts if text is not None]


def shared_keys(request: SubmitRequest) -> JSONDict:
    """The keys of the job that have one form everywhere; what is None is left out."""
    keys: JSONDict = {
        "name": request.name,
        "partition": request.partition,
        "account": request.account,
        "qos": request.qos,
        "reservation": request.reservation,
        # a list is silently ignored, whatever the documentation says
        "nodes": None if request.nodes is None else str(request.nodes),
        "tasks": request.tasks,
        "cpus_per_task": request.cpus_per_task,
        "current_working_directory": request.working_directory,
        "standard_output": request.stdout,
        "standard_error": request.stderr,
        "comment": request.comment,
        "dependency": request.dependency,
        "array": request.array,
        "nice": request.nice,
        "hold": request.hold or None,
    }
    return {key: value for key, value in keys.items() if value is not None}
