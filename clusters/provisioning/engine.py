"""Brings one cluster a pass closer to what is wanted. Level-triggered: every pass begins with a look.

A pass: 1. claim the lease; 2. go over the plan, forward or backwards, and record each look before the
next; 3. sum up; 4. say when to look again and release. A worker killed anywhere leaves a lease that ends
by itself and rows that the next pass compares with the world. Outside calls happen between transactions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import structlog

from clusters.models import Cluster, StepState, StepStatus
from clusters.provisioning import effects, looks, record, use, verdicts
from clusters.provisioning.context import step_context
from clusters.provisioning.keeping import keeping
from clusters.provisioning.lease import Lease, LeaseLost, claim, release
from clusters.provisioning.looks import Trouble
from clusters.provisioning.pace import Pace
from clusters.provisioning.registry import steps_for
from clusters.provisioning.steps import Step, StepContext
from portal.lib.errors import OutsideError

log = structlog.get_logger(__name__)
BUDGET = 20.0  # seconds after which a pass begins nothing new; each outside call takes under 30


def reconcile(cluster_id: UUID | str) -> None:
    """One pass over one cluster; returns at once if another worker has it or there is nothing to do."""
    lease = claim(cluster_id)
    if lease is None:
        return
    try:
        pace = _pass(lease)
        release(lease, next_at=pace.next_at())
    except LeaseLost:
        log.warning("lease.lost", cluster=str(cluster_id), epoch=lease.epoch)
    except OutsideError as error:
        # nothing could be driven at all: no driver, a seal that does not open
        effects.stall(lease, error)
        release(lease, next_at=None)
    except Exception:
        log.exception("pass.bug", cluster=str(cluster_id))
        release(lease, next_at=Pace(attempts=4).next_at())
        raise


def _pass(lease: Lease) -> Pace:
    cluster = Cluster.objects.select_related("site", "tenant").get(pk=lease.cluster_id)
    steps = steps_for(cluster.site, cluster.stack)
    states = record.states(cluster, steps, lease)
    ctx = keeping(step_context(cluster), lease)
    run = _Run(lease, ctx, states, ends=time.monotonic() + BUDGET)
    if cluster.wanted:
        run.forward(steps)
        return effects.sum_up_forward(lease, states, needed=use.needed(steps), pace=run.pace)
    run.backward(steps)
    return effects.sum_up_backward(lease, states, pace=run.pace)


class _Run:
    """The steps of one pass."""

    def __init__(
        self, lease: Lease, ctx: StepContext, states: Mapping[str, StepState], *, ends: float
    ) -> None:
        self.lease = lease
        self.ctx = ctx
        self.states = states
        self.ends = ends
        self.pace = Pace()
        self.seen_ready: dict[str, Mapping[str, str]] = {}

    def forward(self, steps: tuple[Step, ...]) -> None:
        """Each step whose needs were seen ready in this pass."""
        for step in steps:
            if self.states[step.name].status == StepStatus.STALLED:
                continue
            if all(need in self.seen_ready for need in step.needs) and self._in_time():
                self._forward(step)

    def backward(self, steps: tuple[Step, ...]) -> None:
        """Each step whose dependants are gone, the last one first."""
        for step in reversed(steps):
            state = self.states[step.name]
            dependants = [self.states[other.name] for other in steps if step.name in other.needs]
            if state.status in {StepStatus.STALLED, StepStatus.GONE}:
                continue
            if all(other.status == StepStatus.GONE for other in dependants) and self._in_time():
                self._backward(step)

    def _forward(self, step: Step) -> None:
        state = self.states[step.name]
        hold_back = self._holds_back(state)
        if state.status != StepStatus.READY and not hold_back:
            self.pace.changed |= record.begin(self.lease, state, step, StepStatus.PROGRESSING)
        facts = {**self.ctx.facts, **self.seen_ready}
        look = looks.forward(step, replace(self.ctx, facts=facts), hold_back=hold_back)
        verdict = verdicts.of_forward(step, state, look)
        if verdict.status == StepStatus.PROGRESSING and state.deadline_at is None and not look.waits_for:
            # it was ready and is not now: its time begins again
            record.begin(self.lease, state, step, StepStatus.PROGRESSING)
        self._found(state, look, verdict)
        effects.after_look(self.lease, state)
        # what drifted and works still carries those that build on it
        if look.observed is not None and (look.is_ready or (look.held_back and look.observed.ready)):
            self.seen_ready[step.name] = dict(look.observed.facts)

    def _holds_back(self, state: StepState) -> bool:
        """Whether the site asks a person before it mends what was ready, and nobody has said so yet."""
        settled = state.status in verdicts.HELD and state.generation == self.lease.generation
        return settled and not state.mend and self.ctx.settings.get("mend") == "ask"

    def _backward(self, step: Step) -> None:
        state = self.states[step.name]
        self.pace.changed |= record.begin(self.lease, state, step, StepStatus.REMOVING)
        facts = {**self.ctx.facts, **{name: dict(other.facts) for name, other in self.states.items()}}
        look = looks.backward(step, replace(self.ctx, facts=facts))
        self._found(state, look, verdicts.of_backward(step, state, look))
        effects.after_removal_look(self.lease, state)

    def _found(self, state: StepState, look: looks.Look, verdict: record.Verdict) -> None:
        self.pace.changed |= record.found(self.lease, state, look, verdict, generation=self.lease.generation)
        if look.trouble in {Trouble.TEMPORARY, Trouble.BUG} and verdict.status != StepStatus.STALLED:
            self.pace.attempts = max(self.pace.attempts, state.attempts)

    def _in_time(self) -> bool:
        self.pace.cut_short = self.pace.cut_short or time.monotonic() > self.ends
        return not self.pace.cut_short
