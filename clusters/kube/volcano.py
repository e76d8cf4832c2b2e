"""Volcano's queues and jobs as they are shown: read from the tenant's own API server, which is not trusted.

Texts are cut, numbers are numbers, and of very many jobs only the first are kept.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Kind, Manifest

QUEUE: Final = Kind("scheduling.volcano.sh/v1beta1", "Queue", "queues", namespaced=False)
JOB: Final = Kind("batch.volcano.sh/v1alpha1", "Job", "jobs")
MOST_QUEUES = 200
MOST_JOBS = 500
MOST_TASKS = 20
MOST_RESOURCES = 20
LONGEST = 253  # of a name in Kubernetes
OVER: Final = frozenset({"Completed", "Failed", "Aborted", "Terminated"})


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: its share, what it may hold, what it holds."""

    name: str
    state: str  # Open, Closed, Closing, Unknown
    weight: int
    capability: Mapping[str, str]  # the most, by resource; empty: no limit
    deserved: Mapping[str, str]
    allocated: Mapping[str, str]
    running: int  # pod groups
    pending: int
    inqueue: int


@dataclass(frozen=True, slots=True)
class Task:
    """Pods of one kind within a job."""

    name: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Job:
    """One Volcano Job."""

    name: str
    namespace: str
    queue: str
    phase: str  # Pending, Running, Completed ...; "" before the controller saw it
    min_available: int
    tasks: tuple[Task, ...]
    pending: int  # pods
    running: int
    succeeded: int
    failed: int
    message: str
    created_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Workloads:
    """One look. `jobs` are the first MOST_JOBS: what is not over first, then the newest."""

    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    jobs_all: int


def look(client: KubeClient) -> Workloads:
    """Every queue and job, in two lists. Raises what the client raises."""
    queues = sorted((_queue(one) for one in client.list(QUEUE)), key=lambda queue: queue.name)
    jobs = sorted((_job(one) for one in client.list(JOB)), key=_by_interest)
    return Workloads(tuple(queues[:MOST_QUEUES]), tuple(jobs[:MOST_JOBS]), len(jobs))


def _by_interest(job: Job) -> tuple[bool, float, str, str]:
    newest_first = -job.created_at.timestamp() if job.created_at else 0.0
    return job.phase in OVER, newest_first, job.namespace, job.name


def _queue(found: Manifest) -> Queue:
    spec, status = _part(found, "spec"), _part(found, "status")
    return Queue(
        name=_text(_part(found, "metadata").get("name")),
        state=_text(status.get("state")) or "Unknown",
        weight=_number(spec.get("weight")),
        capability=_resources(spec.get("capability")),
        deserved=_resources(spec.get("deserved")),
        allocated=_resources(status.get("allocated")),
        running=_number(status.get("running")),
        pending=_number(status.get("pending")),
        inqueue=_number(status.get("inqueue")),
    )


def _job(found: Manifest) -> Job:
    spec, status, metadata = (_part(found, name) for name in ("spec", "status", "metadata"))
    state = _part(status, "state")
    tasks = spec.get("tasks")
    return Job(
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        queue=_text(spec.get("queue")) or "default",
        phase=_text(state.get("phase")),
        min_available=_number(spec.get("minAvailable")),
        tasks=tuple(map(_task, tasks[:MOST_TASKS])) if isinstance(tasks, list) else (),
        pending=_number(status.get("pending")),
        running=_number(status.get("running")),
        succeeded=_number(status.get("succeeded")),
        failed=_number(status.get("failed")),
        message=_text(state.get("message"))[:LONGEST],
        created_at=_moment(metadata.get("creationTimestamp")),
    )


def _task(found: Any) -> Task:
    one = found if isinstance(found, Mapping) else {}
    return Task(_text(one.get("name")), _number(one.get("replicas")))


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    return part if isinstance(part, Mapping) else {}


def _text(value: object) -> str:
    return value.replace("\0", "")[:LONGEST] if isinstance(value, str) else ""


def _number(value: object) -> int:
    return min(max(value, 0), 10**9) if isinstance(value, int) and not isinstance(value, bool) else 0


def _resources(value: object) -> dict[str, str]:
    """cpu: 32, memory: 64Gi, nvidia.com/gpu: 8"""
    if not isinstance(value, Mapping):
        return {}
    found = {_text(name): _text(str(amount)) for name, amount in value.items()}
    return dict(sorted(found.items())[:MOST_RESOURCES])


def _moment(value: object) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
