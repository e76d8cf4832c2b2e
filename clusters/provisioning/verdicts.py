"""What a look means: ready, in progress, stalled, gone."""

from __future__ import annotations

from clusters.models import StepState, StepStatus
from clusters.provisioning.looks import Look, Trouble
from clusters.provisioning.record import Verdict, is_late
from clusters.provisioning.steps import Step
from portal.lib import clock

HELD = frozenset({StepStatus.READY, StepStatus.DRIFTED})


def of_forward(step: Step, state: StepState, look: Look) -> Verdict:
    """Of a step that is wanted."""
    if look.is_ready:
        return Verdict(StepStatus.READY)
    if look.trouble is Trouble.PERMANENT:
        return Verdict(StepStatus.STALLED, look.reason, look.message, look.hint)
    if look.held_back:
        return _drifted(step, look)
    if look.trouble is not None and look.observed is None and state.status in HELD:
        # unknown is not gone, and not fine either: what we believed stays, with the trouble beside it
        return Verdict(StepStatus(state.status), look.reason, look.message, look.hint)
    if is_late(state, clock.now()) and not look.waits_for:
        return _late(step, look)
    return Verdict(StepStatus.PROGRESSING, look.reason, look.message, look.hint)


def of_backward(step: Step, state: StepState, look: Look) -> Verdict:
    """Of a step that is to go. A missed deadline stalls; nothing is ever called gone unseen."""
    if look.is_gone:
        return Verdict(StepStatus.GONE)
    if look.trouble is Trouble.PERMANENT:
        return Verdict(StepStatus.STALLED, look.reason, look.message, look.hint)
    if is_late(state, clock.now()):
        return _late(step, look)
    return Verdict(StepStatus.REMOVING, look.reason, look.message, look.hint)


def _drifted(step: Step, look: Look) -> Verdict:
    seen = look.observed
    count = len(seen.differences) if seen is not None else 0
    what = f"{count} of its fields {'is' if count == 1 else 'are'}" if count else "Something is"
    return Verdict(
        StepStatus.DRIFTED,
        "Drifted",
        look.message or f"{what} not as wanted any more.",
        f"Look at the differences; Mend has {step.component} set right again.",
    )


def _late(step: Step, look: Look) -> Verdict:
    last = f" Last: {look.message or look.reason}" if look.message or look.reason else ""
    return Verdict(
        StepStatus.STALLED,
        "DeadlinePassed",
        f"Not done within {int(step.deadline.total_seconds())} s.{last}",
        look.hint or f"See what holds {step.component} up, then retry.",
    )
