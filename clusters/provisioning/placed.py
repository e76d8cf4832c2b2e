"""A step as it stands in one site's plan: what it needs there may be less than what it could need."""

from __future__ import annotations

from collections.abc import Collection

from clusters.provisioning.steps import Change, ClusterSpec, Observed, Previews, Step, StepContext


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


class PlacedWithPreview(Placed):
    """The same of a step that can show what it would touch."""

    def __init__(self, step: Step, *, absent: Collection[str], previews: Previews) -> None:
        super().__init__(step, absent=absent)
        self._previews = previews

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """As the step."""
        return self._previews.preview(ctx)


def place(step: Step, *, absent: Collection[str]) -> Step:
    """The step as it stands in the plan; itself where it needs nothing that is absent."""
    if not set(absent).intersection(step.needs):
        return step
    if isinstance(step, Previews):
        return PlacedWithPreview(step, absent=absent, previews=step)
    return Placed(step, absent=absent)
