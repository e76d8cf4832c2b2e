"""Builds specs, folders and ports for tests that run real local clusters beside each other."""

from __future__ import annotations

import base64
import dataclasses
import grp
import os
import pwd
import secrets
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clusters.drivers.local import teardown
from clusters.drivers.local.factory import steps
from clusters.drivers.local.settings import LocalSettings
from clusters.provisioning.steps import (
    AccountKind,
    AccountSpec,
    ClusterSpec,
    FlavorSpec,
    Observed,
    PoolSpec,
    Step,
    StepContext,
)
from portal.lib.errors import TemporaryError

INSTALLATION = "tests"
GPU = FlavorSpec("gpu-a100-2", "a100", 2, 4, 8000)
CPU = FlavorSpec("cpu-8", "", 0, 8, 16000)


@dataclass
class Lab:
    """A data folder and the clusters in it."""

    settings: LocalSettings
    site: dict[str, Step]
    contexts: dict[str, StepContext] = field(default_factory=dict)

    def cluster(self, *, pools: tuple[PoolSpec, ...] = (), members: int = 1) -> StepContext:
        """A new cluster: nothing of it exists yet."""
        spec = make_spec(pools=pools, members=members)
        context = StepContext(
            spec=spec,
            settings={"site": "lab"},
            secrets={"slurm-jwt-key": secrets.token_bytes(32)},
            ports=free_ports(30),
        )
        self.contexts[spec.name] = context
        return context

    def folder(self, ctx: StepContext) -> Path:
        """The cluster's folder."""
        return self.settings.clusters / ctx.spec.name

    def close(self) -> None:
        """Remove everything that any of the clusters left."""
        teardown.remove_all(self.settings.data)
        shutil.rmtree(self.settings.data)


def open_lab() -> Lab:
    """A lab in a folder of its own that other users may pass through."""
    data = Path(tempfile.mkdtemp(prefix="freehold-lab-"))
    data.chmod(0o711)
    settings = LocalSettings(data=data, system_user="freehold")
    return Lab(settings, {step.name: step for step in steps(settings)})


def make_spec(*, pools: tuple[PoolSpec, ...] = (), members: int = 1) -> ClusterSpec:
    """A cluster with random names and ids that nothing on this machine uses."""
    identity = uuid.uuid4()
    short = base64.b32encode(identity.bytes).decode()[:12].lower()
    base = free_ids(members + 3)
    kinds: list[AccountKind] = ["observer", "administrator", *["member"] * members]  # type: ignore[list-item]
    accounts = tuple(
        AccountSpec(f"fh{short}{kind[0]}{index}", base + 1 + index, base, kind, active=True)
        for index, kind in enumerate(kinds)
    )
    return ClusterSpec(
        id=str(identity),
        name=f"c-{short}",
        title="Team A",
        tenant="team-a",
        installation=INSTALLATION,
        pools=pools or (PoolSpec("train", GPU, (f"gpu-{short[:4]}-1", f"gpu-{short[:4]}-2")),),
        accounts=accounts,
        gid=base,
    )


def free_ids(count: int) -> int:
    """The first of a row of uids and gids that are not in use."""
    while True:
        base = secrets.randbelow(1_000_000_000) + 1_000_000_000
        used = {entry.pw_uid for entry in pwd.getpwall()} | {entry.gr_gid for entry in grp.getgrall()}
        if used.isdisjoint(range(base, base + count)):
            return base


def free_ports(count: int) -> range:
    """A block of loopback ports on which nobody listens, outside the range of outgoing connections."""
    while True:
        start = 10_000 + secrets.randbelow(2_000) * 10
        block = range(start, start + count)
        if all(_is_free(port) for port in block):
            return block


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def drive(step: Step, ctx: StepContext, *, seconds: float = 30) -> Observed:
    """What the engine does with one step until it is ready."""
    end = time.monotonic() + seconds
    while True:
        seen = step.observe(ctx)
        if seen.exists and seen.in_sync and seen.ready:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"{step.name} is not ready: {seen}")
        try:
            step.apply(ctx)
        except TemporaryError:
            time.sleep(0.1)
        if step.observe(ctx).ready:
            continue
        time.sleep(0.1)


def drive_all(lab: Lab, ctx: StepContext, *, last: str = "smoke") -> StepContext:
    """All steps in order; returns the context with the facts of each."""
    for name, step in lab.site.items():
        seen = drive(step, ctx)
        ctx = dataclasses.replace(ctx, facts={**ctx.facts, name: seen.facts})
        if name == last:
            break
    return ctx


def drive_away(step: Step, ctx: StepContext, *, seconds: float = 30) -> None:
    """What the engine does with one step until it is gone."""
    end = time.monotonic() + seconds
    while step.observe(ctx).exists:
        if time.monotonic() > end:
            raise AssertionError(f"{step.name} is not gone: {step.observe(ctx)}")
        try:
            step.remove(ctx)
        except TemporaryError:
            time.sleep(0.1)


def until(condition: Callable[[], object], *, seconds: float = 20, what: str = "condition") -> None:
    """Look again and again until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def is_root() -> bool:
    """Real clusters need root."""
    return os.geteuid() == 0
