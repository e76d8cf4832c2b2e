"""Short lists beside the queue: states of jobs, reservations, licenses. Times are epoch seconds or None."""

from __future__ import annotations

import msgspec


class _Listed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Immutable, by keyword."""


class JobState(_Listed, frozen=True):
    """One line of the short list: a job, a task of an array, or a part of a het job, and its state.

    `number` is the record's own job id for what has one. A task that waits in its array's record has the
    array's id, and v0.0.40 writes the array's id for started tasks too: with `task` both are unambiguous.
    """

    number: int
    state: str  # as JobRecord.state
    flags: frozenset[str] = frozenset()
    task: int | None = None
    is_array: bool = False  # the array's own record, when none of its tasks waits in it any more
    het_offset: int | None = None


class ReservationRecord(_Listed, frozen=True):
    """Nodes kept for some for a time."""

    name: str
    start_time: int | None = None
    end_time: int | None = None
    nodes: str = ""
    node_count: int = 0
    core_count: int = 0
    partition: str = ""
    users: str = ""
    accounts: str = ""
    groups: str = ""
    features: str = ""
    licenses: str = ""
    tres: str = ""
    flags: frozenset[str] = frozenset()  # MAINT, IGNORE_JOBS, DAILY ...


class LicenseRecord(_Listed, frozen=True):
    """A license that jobs take and give back."""

    name: str
    total: int = 0
    used: int = 0
    free: int = 0
    reserved: int = 0
    is_remote: bool = False  # counted by slurmdbd for several clusters
