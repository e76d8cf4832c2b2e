"""What was shown to work, kept with the cluster: so nothing is tried again without a reason."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from clusters.drivers.slinky.base import JWT
from clusters.provisioning.steps import AccountSpec, PoolSpec, StepContext

IDENTITY = "slurm-identity-shown"
SMOKE = "slurm-smoke-shown"
ACCOUNTS = "slurm-accounts-shown"


def read(ctx: StepContext, name: str) -> dict[str, Any] | None:
    """The record; None if there is none."""
    kept = ctx.secrets.get(name)
    return json.loads(kept) if kept else None


def write(ctx: StepContext, name: str, record: dict[str, Any]) -> None:
    """Keep the record."""
    ctx.keep(name, json.dumps(record, sort_keys=True).encode(), None)


def forget(ctx: StepContext, name: str) -> None:
    """As if nothing had ever been shown."""
    if ctx.secrets.get(name):
        ctx.keep(name, b"", None)


def of_account(ctx: StepContext, account: AccountSpec) -> str:
    """What a proof is worth for: another key or another uid makes it worthless."""
    text = f"{account.name} {account.uid} ".encode()
    return hashlib.sha256(text + ctx.secrets[JWT]).hexdigest()[:16]


def of_flavor(pool: PoolSpec) -> str:
    """What a test job in a pool was about."""
    flavor = pool.flavor
    return f"{flavor.gpu_type}:{flavor.gpu_count}:{flavor.cpus}:{flavor.memory_mib}"


def of_pool(pool: PoolSpec) -> str:
    """The same with its nodes."""
    return hashlib.sha256(f"{of_flavor(pool)} {pool.machines} {pool.count}".encode()).hexdigest()[:12]
