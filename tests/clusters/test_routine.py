"""A renewal waits for nobody; drift waits for a person where the site says so."""

from __future__ import annotations

import datetime as dt

import pytest

from clusters.provisioning import looks
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext

CTX = StepContext(spec=ClusterSpec("1", "c-1", "A", "a", "tests", (), (), 0))


class Aging:
    """Out of sync until it is applied."""

    name = "access"
    component = "Test"
    needs: tuple[str, ...] = ()
    deadline = dt.timedelta(minutes=1)

    def __init__(self, *, routine: bool) -> None:
        self.routine, self.applied = routine, False

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        return (spec.name,)

    def observe(self, ctx: StepContext) -> Observed:
        return Observed(True, self.applied, True, routine=self.routine and not self.applied)

    def apply(self, ctx: StepContext) -> None:
        self.applied = True

    def remove(self, ctx: StepContext) -> None:
        raise AssertionError("nothing is removed")


@pytest.mark.parametrize("routine", [True, False])
def test_only_what_the_clock_alone_asks_for_is_done_unasked(routine: bool) -> None:
    step = Aging(routine=routine)
    look = looks.forward(step, CTX, hold_back=True)
    assert (step.applied, look.held_back, look.is_ready) == (routine, not routine, routine)
    looks.forward(step, CTX)
    assert step.applied
