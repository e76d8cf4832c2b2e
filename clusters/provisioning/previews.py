"""What each step of a plan would touch, asked of the step itself where it can tell."""

from __future__ import annotations

from dataclasses import asdict

from clusters.provisioning.steps import Previews, Step, StepContext
from portal.lib.errors import OutsideError
from portal.lib.types import JSONDict


def preview_of(step: Step, ctx: StepContext) -> JSONDict:
    """`changes`: each thing with what would become of it; `unseen`: why the step could not look.

    A plan is made also while an outside system is down: the operator sees what could not be looked at.
    """
    if not isinstance(step, Previews):
        return {"changes": [], "unseen": ""}
    try:
        return {"changes": [asdict(change) for change in step.preview(ctx)], "unseen": ""}
    except OutsideError as error:
        return {"changes": [], "unseen": f"{error.reason}: {error.message}"}
