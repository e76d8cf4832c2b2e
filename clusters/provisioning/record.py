"""Writes what a pass found: step states, events on change, topics. Every write needs the lease."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass

from clusters import live
from clusters.models import Cluster, Stack, StepEvent, StepState, StepStatus
from clusters.provisioning.lease import Lease, held
from clusters.provisioning.looks import Look, Trouble
from clusters.provisioning.steps import Step
from clusters.services import identities, observation
from clusters.services.stalls import tell_operators
from portal.lib import clock
from tenants.live.topics import publish_all

MOST_TEXT = 2000
MOST_DIFFERENCES = 100
VISIBLE = ("status", "reason", "message")
SLURM = "slurm"  # the step whose nodes the observer watches


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look means for a step."""

    status: StepStatus
    reason: str = ""
    message: str = ""
    hint: str = ""


def states(cluster: Cluster, steps: tuple[Step, ...], lease: Lease) -> dict[str, StepState]:
    """One row for each step of the plan; where one is missing it is made, with accounts that it may need."""
    with held(lease):
        known = {state.name: state for state in StepState.objects.filter(cluster=cluster)}
        missing = [
            StepState(
                cluster=cluster,
                name=step.name,
                position=position,
                component=step.component,
                since=clock.now(),
            )
            for position, step in enumerate(steps)
            if step.name not in known
        ]
        if missing:
            known |= {state.name: state for state in StepState.objects.bulk_create(missing)}
            if cluster.wanted and cluster.stack == Stack.SLURM:
                identities.sync(cluster)
    return {step.name: known[step.name] for step in steps}


def begin(lease: Lease, state: StepState, step: Step, status: StepStatus) -> bool:
    """Note that a step is being worked on, before its first verb runs, and until when it may take."""
    now = clock.now()
    if state.status == status and state.deadline_at is not None:
        return False
    state.started_at = state.started_at or now
    state.deadline_at = now + step.deadline
    return _write(lease, state, Verdict(status), ["started_at", "deadline_at"])


def found(lease: Lease, state: StepState, look: Look, verdict: Verdict, *, generation: int) -> bool:
    """Note what a look found. True if a person would see a difference."""
    now = clock.now()
    before = (state.status, state.generation)
    if look.trouble is None:
        state.attempts = 0
        state.observed_at = now
    else:
        state.attempts += 1
        state.bugs += look.trouble is Trouble.BUG
    state.tries += look.asked
    state.waits_for = look.waits_for[:40]
    if look.waits_for:
        state.deadline_at = None  # waiting for people or their jobs is no time-out
    if look.observed is not None and (look.observed.exists or look.observed.facts):
        state.facts = dict(look.observed.facts)
    if look.observed is not None:
        state.differences = [asdict(one) for one in look.observed.differences[:MOST_DIFFERENCES]]
    if verdict.status == StepStatus.READY and look.is_ready:
        state.mend = False
        state.ready_at = state.ready_at or now
        state.deadline_at = None
        state.generation = generation
    columns = [
        "attempts",
        "bugs",
        "observed_at",
        "tries",
        "facts",
        "differences",
        "mend",
        "ready_at",
        "deadline_at",
        "generation",
        "waits_for",
    ]
    changed = _write(lease, state, verdict, columns)
    is_new = before != (state.status, state.generation)
    if state.name == SLURM and state.status == StepStatus.READY and is_new:
        observation.after_change(state.cluster_id, told=str(state.facts.get("nodes", "")))
    return changed


def _write(lease: Lease, state: StepState, verdict: Verdict, columns: list[str]) -> bool:
    before = tuple(str(getattr(state, name)) for name in VISIBLE)
    if state.status != verdict.status:
        state.since = clock.now()
    state.status = verdict.status
    state.reason = verdict.reason[:60]
    state.message = verdict.message[:MOST_TEXT]
    state.hint = verdict.hint[:MOST_TEXT]
    after = tuple(str(getattr(state, name)) for name in VISIBLE)
    with held(lease) as cluster:
        state.save(update_fields=[*columns, *VISIBLE, "hint", "since"])
        if before[:2] != after[:2]:
            StepEvent.objects.create(
                cluster=cluster,
                step=state.name,
                status=state.status,
                reason=state.reason,
                message=state.message,
            )
        if state.status == StepStatus.STALLED and before[0] != StepStatus.STALLED:
            tell_operators(
                cluster, step=state.name, reason=state.reason, message=state.message, hint=state.hint
            )
        if before != after:
            publish_all(live.of_cluster(cluster))
    return before != after


def is_late(state: StepState, now: dt.datetime) -> bool:
    """Past its deadline."""
    return state.deadline_at is not None and now > state.deadline_at
