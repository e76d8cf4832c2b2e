"""Which steps must be ready before people can use a cluster; the others may come later."""

from __future__ import annotations

from collections.abc import Iterable

from clusters.models import StepState, StepStatus
from clusters.provisioning.steps import Step

PROOF = "smoke"  # a real job ran: what it needs is what jobs need
SHOWN_AFTER = "isolation"  # it looks at what works, and holds nobody up


def needed(steps: Iterable[Step]) -> frozenset[str]:
    """The proof and all that it needs, directly or through others; every step where a plan has no proof."""
    needs = {step.name: step.needs for step in steps}
    if PROOF not in needs:
        return frozenset(needs) - {SHOWN_AFTER}
    found: set[str] = set()
    waiting = [PROOF]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs[name]
    return frozenset(found)


def is_ready(state: StepState, generation: int) -> bool:
    """Seen ready as it is wanted now."""
    return state.status == StepStatus.READY and state.generation == generation


def is_coming(state: StepState) -> bool:
    """On its way for the first time, and nobody has to do anything for it."""
    on_its_way = state.status in {StepStatus.WAITING, StepStatus.PROGRESSING}
    return on_its_way and state.ready_at is None and not state.waits_for
