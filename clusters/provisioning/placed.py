"""A step as it stands in one site's plan: what it needs there may be less than what it could need."""

from __future__ import annotations

from collections.abc import Collection

from clusters.provisioning.steps import ClusterSpec, Observed, Step, StepContext


class Placed:
    """The same step, without the needs that no step of the plan can serve."""

    def __init__(self, step: Step, *, absent: Collection[str]) -> None:
        self._step = step
        self.name = step.name
        self.component = step.component
        self.deadline = step.deadline
        self.needs = tuple(need for need in step.needs if need not in absent)

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """As the step."""
        return self._step.describe(spec)

    def observe(self, ctx: StepContext) -> Observed:
        """As the step."""
        return self._step.observe(ctx)

    def apply(self, ctx: StepContext) -> None:
        """As the step."""
        self._step.apply(ctx)

    def remove(self, ctx: StepContext) -> None:
        """As the step."""
        self._step.remove(ctx)
