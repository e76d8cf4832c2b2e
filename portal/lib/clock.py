"""The one place that asks what time it is, so that tests can travel."""

from __future__ import annotations

import datetime as dt


def now() -> dt.datetime:
    """The present moment, aware, in UTC."""
    return dt.datetime.now(tz=dt.UTC)
