"""When to look again."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass

from portal.lib import clock

LONGEST_PROGRESS = 15  # seconds
LONGEST_BACK_OFF = 15 * 60
DRIFT_CHECK = 10 * 60


@dataclass(slots=True)
class Pace:
    """What a pass tells about the next one."""

    changed: bool = False  # something that people see
    attempts: int = 0  # the most errors in a row of any step
    progressing: bool = False
    quiet: int = 0  # passes in a row before this one that changed nothing
    ready: bool = False
    cut_short: bool = False

    def seconds(self) -> float | None:
        """From now; None: when somebody acts."""
        delays: list[float] = []
        if self.cut_short:
            delays.append(0)
        if self.progressing and not self.attempts:
            delays.append(min(LONGEST_PROGRESS, 2.0 ** min(self.quiet, 4)))
        if self.attempts:
            delays.append(_jitter(min(LONGEST_BACK_OFF, 2.0 ** min(self.attempts, 10))))
        if self.ready:
            delays.append(_jitter(DRIFT_CHECK))
        return min(delays, default=None)

    def next_at(self) -> dt.datetime | None:
        """As a moment."""
        seconds = self.seconds()
        return None if seconds is None else clock.now() + dt.timedelta(seconds=seconds)


def _jitter(seconds: float) -> float:
    # so that a thousand clusters that failed together do not come back together
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311  # not for secrets
