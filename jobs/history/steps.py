"""Slurm's steps of a job: as they are kept, and as pages and the API show them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from django.utils.translation import gettext_lazy as _

from clusters.clients.slurmrest.models import FINISHED_STATES
from clusters.clients.slurmrest.past import PastJob, PastStep
from jobs.history.models import JobSteps
from jobs.models import Job, JobState
from jobs.observer.columns import moment
from portal.lib.types import JSONDict

LONGEST_NAME = 200
LABELS = dict(JobState.choices)
SPECIAL = {
    "batch": _("the script itself"),
    "extern": _("what was started beside the script"),
    "interactive": _("the shell of an interactive job"),
}
LATE = dt.timedelta(minutes=10)  # what accounting did not tell by then it does not know


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One step in the database; moments in epoch seconds."""

    step: str
    name: str
    state: str
    exit_status: int | None = None
    exit_signal: int | None = None
    nodes: int | None = None
    tasks: int | None = None
    start: int | None = None
    end: int | None = None
    elapsed: int | None = None  # seconds; None while it runs
    cpu_seconds: float | None = None
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step, for people and programs."""

    step: str
    name: str
    state: str
    exit_status: int | None
    exit_signal: int | None
    node_count: int | None
    task_count: int | None
    start_time: dt.datetime | None
    end_time: dt.datetime | None
    elapsed_seconds: int | None
    cpu_seconds: float | None
    memory_mib: int | None

    @property
    def is_running(self) -> bool:
        """It was at work when accounting told of it."""
        return self.state not in FINISHED_STATES and self.start_time is not None

    @property
    def state_label(self) -> str:
        """The state as lists of jobs say it."""
        return str(LABELS.get(self.state, self.state))

    @property
    def what(self) -> str:
        """What this step is, for people who do not know Slurm's words."""
        return str(SPECIAL.get(self.step, self.name if self.name != self.step else ""))


@dataclass(frozen=True, slots=True)
class StepsTold:
    """What is known of a job's steps."""

    lines: tuple[StepLine, ...] = ()
    count: int = 0
    is_late: bool = False  # nothing is known, and nothing will be

    @property
    def left_out(self) -> int:
        """Steps between the first and the last that are not kept."""
        return self.count - len(self.lines)


def kept(row: Job, record: PastJob) -> JobSteps:
    """What to keep of what accounting told."""
    steps = [msgspec.to_builtins(_kept(step)) for step in record.steps]
    return JobSteps(tenant_id=row.tenant_id, job=row, steps=steps, count=record.step_count)


def steps_of(row: Job, now: dt.datetime) -> StepsTold | None:
    """The steps of a job; None where there can be none: it has not started, or no books are kept there."""
    if row.state == JobState.PENDING or row.start_time is None:
        return None
    found: JobSteps | None = getattr(row, "told_steps", None)
    if found is not None and found.steps:
        return StepsTold(tuple(lines_of(found.steps)), found.count)
    if not row.cluster.site.drivers.get("accounting"):
        return None
    return StepsTold(is_late=not row.is_active and (row.end_time or row.observed_at) < now - LATE)


def lines_of(steps: Iterable[JSONDict]) -> Iterable[StepLine]:
    """Steps as they were kept."""
    for told in msgspec.convert(list(steps), list[Kept]):
        yield StepLine(
            step=told.step,
            name=told.name,
            state=told.state,
            exit_status=told.exit_status,
            exit_signal=told.exit_signal,
            node_count=told.nodes,
            task_count=told.tasks,
            start_time=moment(told.start),
            end_time=moment(told.end),
            elapsed_seconds=told.elapsed,
            cpu_seconds=told.cpu_seconds,
            memory_mib=told.memory_mib,
        )


def _kept(step: PastStep) -> Kept:
    is_over = step.state in FINISHED_STATES
    code = step.exit_code
    return Kept(
        step=step.step,
        name=step.name[:LONGEST_NAME],
        state=step.state,
        exit_status=code.status if code else None,
        exit_signal=code.signal if code else None,
        nodes=step.node_count or None,
        tasks=step.tasks or None,
        start=step.start_time,
        end=step.end_time if is_over else None,
        # of one that runs it would be another with each look
        elapsed=step.elapsed if is_over else None,
        cpu_seconds=step.cpu_seconds if is_over else None,
        memory_mib=step.memory_mib,
    )
