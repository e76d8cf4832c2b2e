"""Lets a step hand over a secret that it made: sealed under the lease, there for the pass's later steps."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from clusters.provisioning.lease import Lease, held
from clusters.provisioning.steps import StepContext
from clusters.services import secrets


def keeping(ctx: StepContext, lease: Lease) -> StepContext:
    """The same context, whose `keep` writes. A stale worker's secret is refused with LeaseLost."""
    known = dict(ctx.secrets)

    def keep(name: str, value: bytes, expires_at: dt.datetime | None) -> None:
        with held(lease) as cluster:
            secrets.keep(cluster, name, value, expires_at)
        known[name] = value

    return replace(ctx, secrets=known, keep=keep)
