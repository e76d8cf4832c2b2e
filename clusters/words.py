"""How steps read to people, and whom an order waits for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusters.models import Order, OrderKind, OrderState, StepState, StepStatus
from portal.lib.types import JSONDict

TITLES = {
    "machines": "Take machines",
    "fabric": "Separate the network",
    "slurm": "Start Slurm",
    "identity": "Make accounts",
    "smoke": "Run a test job",
}


def title_of(step: str) -> str:
    """A step's title; one that nobody named reads as it is called."""
    return TITLES.get(step) or step.replace("-", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whom something waits for, since when, and why."""

    who: str  # "an operator", "Freehold", "nobody", "running jobs"
    what: str  # a sentence
    since: dt.datetime | None = None
    reason: str = ""
    message: str = ""

    @property
    def needs_a_person(self) -> bool:
        """Nothing goes on by itself."""
        return self.who == "an operator"


def waiting_of(order: Order, steps: Sequence[StepState]) -> Waiting | None:
    """Whom the order waits for; None when it is decided and done."""
    if order.state == OrderState.SUBMITTED:
        return _undecided(order)
    if order.state != OrderState.APPROVED:
        return None
    if order.kind == OrderKind.TERMINATE and order.cluster is not None and order.cluster.terminate_at:
        return Waiting("nobody", "Removal is scheduled; it can be called off.", order.decided_at)
    return waiting_of_steps(steps) or Waiting("Freehold", "A worker is about to begin.", order.decided_at)


def _undecided(order: Order) -> Waiting:
    error = (order.plan or {}).get("error")
    if error:
        return Waiting(
            "an operator",
            "An operator looks at the order; it cannot be built as things are.",
            order.submitted_at,
            str(error["reason"]),
            str(error["message"]),
        )
    return Waiting("an operator", "An operator looks at the order and its plan.", order.submitted_at)


def waiting_of_steps(steps: Iterable[StepState]) -> Waiting | None:
    """Whom the work waits for: the first stalled step, else the first that is under way."""
    rows = list(steps)
    for step in rows:
        if step.status == StepStatus.STALLED:
            what = f"{title_of(step.name)} needs a person; operators see it in their list."
            return Waiting("an operator", what, step.since, step.reason, step.message)
    for step in rows:
        if step.waits_for:
            what = f"{title_of(step.name)} goes on by itself then. No time runs out."
            return Waiting(step.waits_for, what, step.since, step.reason, step.message)
        if step.status in {StepStatus.PROGRESSING, StepStatus.REMOVING}:
            what = f"{title_of(step.name)}, by {step.component}."
            return Waiting("Freehold", what, step.since, step.reason, step.message)
    return None


def timeline_of(steps: Sequence[StepState], *, change: int = 0) -> list[JSONDict]:
    """Items of components/timeline.html. Of a change, steps that have not come to its generation yet wait."""
    if change:
        return [_of_change(step, change) for step in steps]
    needed = {step.name: step.status for step in steps}
    return [
        {
            "title": title_of(step.name),
            "status": step.status,
            "component": step.component,
            "at": step.since if step.status != StepStatus.WAITING else None,
            "took": step.ready_at - step.started_at if step.ready_at and step.started_at else "",
            "reason": step.reason,
            "detail": step.message or ("" if needed[step.name] != StepStatus.WAITING else "Waits its turn."),
        }
        for step in steps
    ]


def _of_change(step: StepState, generation: int) -> JSONDict:
    waits = step.status == StepStatus.READY and step.generation < generation
    return {
        "title": title_of(step.name),
        "status": StepStatus.WAITING if waits else step.status,
        "component": step.component,
        "at": None if waits or step.status == StepStatus.READY else step.since,
        "reason": step.reason,
        "detail": "Works as before; its turn comes." if waits else step.message,
    }
