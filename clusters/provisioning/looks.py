"""Drives one step in one pass: look, ask only if needed, look again. No database here."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import structlog

from clusters.provisioning.lease import LeaseLost
from clusters.provisioning.steps import Observed, Step, StepContext
from portal.lib.errors import PermanentError, TemporaryError

log = structlog.get_logger(__name__)


class Trouble(enum.Enum):
    """Why a look or an ask ended without an answer."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    BUG = "bug"


@dataclass(frozen=True, slots=True)
class Look:
    """What driving a step found. `observed` is the last answer, None if there was none."""

    observed: Observed | None = None
    asked: bool = False
    trouble: Trouble | None = None
    reason: str = ""
    message: str = ""
    hint: str = ""
    held_back: bool = False  # not in sync, and left so: the site asks a person first

    @property
    def is_ready(self) -> bool:
        """There, as wanted, and working."""
        seen = self.observed
        return self.trouble is None and seen is not None and seen.exists and seen.in_sync and seen.ready

    @property
    def waits_for(self) -> str:
        """Whom the step waits for, if it is not the outside."""
        return self.observed.waits_for if self.trouble is None and self.observed is not None else ""

    @property
    def is_gone(self) -> bool:
        """Positively not there."""
        return self.trouble is None and self.observed is not None and not self.observed.exists


def forward(step: Step, ctx: StepContext, *, hold_back: bool = False) -> Look:
    """Observe; if it is not there or not as wanted, apply (unless held back) and observe again."""
    return _drive(step, ctx, away=False, hold_back=hold_back)


def backward(step: Step, ctx: StepContext) -> Look:
    """Observe; if it is there, ask for removal and observe again."""
    return _drive(step, ctx, away=True)


def _drive(step: Step, ctx: StepContext, *, away: bool, hold_back: bool = False) -> Look:
    seen: Observed | None = None
    asked = False
    if not away and not hold_back:
        ctx = replace(ctx, passed_on={})
    try:
        seen = step.observe(ctx)
        if seen.exists if away else not (seen.exists and seen.in_sync):
            if hold_back and not seen.routine:
                return Look(seen, held_back=True, reason=seen.reason, message=seen.message)
            asked = True
            (step.remove if away else step.apply)(ctx)
            seen = step.observe(ctx)
    except LeaseLost:
        raise  # met while a secret was being kept: not the step's trouble
    except TemporaryError as error:
        return Look(seen, asked, Trouble.TEMPORARY, error.reason, error.message, error.hint)
    except PermanentError as error:
        return Look(seen, asked, Trouble.PERMANENT, error.reason, error.message, error.hint)
    except Exception:
        # a bug of ours or a driver's: logged with its trace, counted, and tried again later
        log.exception("step.bug", step=step.name, cluster=ctx.spec.name)
        return Look(
            seen,
            asked,
            Trouble.BUG,
            "InternalError",
            f"The step {step.name} met an error that nobody foresaw. It was logged and is tried again.",
            "Look for step.bug in the worker's log.",
        )
    return Look(seen, asked, reason=seen.reason, message=seen.message)
