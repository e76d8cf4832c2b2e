"""What Slurm's accounting allows: the limits of accounts, of their users and of each QOS.

Amounts are of trackable resources by their names: "cpu", "mem" (MiB), "node", "billing", "gres/gpu",
"gres/gpu:a100", "license/matlab". None, or a name that is absent: no limit here, or not told by this version.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clusters.clients.slurmrest.models import Limit

Amounts = dict[str, int]

DENIES = "DENY_LIMIT"  # flags of a QOS: what is over its limits is refused at once
OVER_PARTITION = "OVERRIDE_PARTITION_QOS"  # its limits come before those of a partition's QOS
ANY_TIME = "PARTITION_TIME_LIMIT"  # of the partition, which no longer counts
ANY_NODES = "PARTITION_MAXIMUM_NODE"


class Bounds(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Limits of one association or one QOS. Minutes of a resource are of each unit of it."""

    wall_minutes: int | None = None  # MaxWall
    running: int | None = None  # jobs of one user: MaxJobs
    submitted: int | None = None  # jobs of one user that wait or run: MaxSubmit
    account_running: int | None = None  # of a QOS: jobs of one account
    account_submitted: int | None = None
    all_running: int | None = None  # of all together: GrpJobs
    all_submitted: int | None = None  # GrpSubmit
    all_wall_minutes: int | None = None  # GrpWall
    per_job: Amounts = msgspec.field(default_factory=dict)  # MaxTRES
    per_node: Amounts = msgspec.field(default_factory=dict)
    per_user: Amounts = msgspec.field(default_factory=dict)
    per_account: Amounts = msgspec.field(default_factory=dict)
    together: Amounts = msgspec.field(default_factory=dict)  # GrpTRES
    minutes_per_job: Amounts = msgspec.field(default_factory=dict)  # MaxTRESMins
    minutes: Amounts = msgspec.field(default_factory=dict)  # GrpTRESMins: a budget
    least: Amounts = msgspec.field(default_factory=dict)  # MinTRES of one job


NO_BOUNDS = Bounds()


class Qos(msgspec.Struct, frozen=True, kw_only=True):
    """A quality of service."""

    name: str
    description: str = ""
    priority: Limit = None
    bounds: Bounds = NO_BOUNDS
    flags: tuple[str, ...] = ()
    preempts: tuple[str, ...] = ()  # names of QOS whose jobs give way to it
    preempt_modes: tuple[str, ...] = ()  # what becomes of them; empty: as the cluster has it


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What an account (user "") or a user of it has used, in seconds of each resource, as Slurm counts."""

    account: str
    user: str = ""
    partition: str = ""
    used_seconds: Mapping[str, float] = msgspec.field(default_factory=dict)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Of Slurm's own configuration, what decides about a request. None: not told."""

    enforces: tuple[str, ...] | None = None  # associations, limits, qos, safe
    max_array_size: int | None = None
