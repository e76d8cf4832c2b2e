"""Builds specs, folders and ports for tests that run real local clusters beside each other."""

from __future__ import annotations

import base64
import dataclasses
import grp
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobId, SubmitRequest
from clusters.drivers.local import daemons, teardown
from clusters.drivers.local.factory import steps
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.slurm_probe import gateways
from clusters.provisioning.steps import (
    AccountKind,
    AccountSpec,
    ClusterSpec,
    FlavorSpec,
    PoolSpec,
    Step,
    StepContext,
)
from tests.contract.driver_contract import drive_away, settle
from tests.fixtures.ports import free_block

INSTALLATION = "tests"
GPU = FlavorSpec("gpu-a100-2", "a100", 2, 4, 8000)
CPU = FlavorSpec("cpu-8", "", 0, 8, 16 * 1024)  # an API server answers it as 16Gi


@dataclass
class Lab:
    """A data folder and the clusters in it."""

    settings: LocalSettings
    site: dict[str, Step]
    contexts: dict[str, StepContext] = field(default_factory=dict)

    def cluster(self, *, pools: tuple[PoolSpec, ...] = (), members: int = 1) -> StepContext:
        """A new cluster: nothing of it exists yet."""
        spec = make_spec(pools=pools, members=members)
        known = {"slurm-jwt-key": secrets.token_bytes(32)}
        context = StepContext(
            spec=spec,
            settings={"site": "lab"},
            secrets=known,
            ports=free_block(30),
            keep=lambda name, value, _: known.update({name: value}),
        )
        self.contexts[spec.name] = context
        return context

    def folder(self, ctx: StepContext) -> Path:
        """The cluster's folder."""
        return self.settings.clusters / ctx.spec.name

    def prepare(self, ctx: StepContext, *, until: str) -> StepContext:
        """Bring up every step that `until` follows; returns the context with their facts."""
        for name, step in self.site.items():
            if name == until:
                break
            seen = settle(step, ctx)
            ctx = dataclasses.replace(ctx, facts={**ctx.facts, name: seen.facts})
        return ctx

    def bring_up(self, ctx: StepContext) -> StepContext:
        """Bring up the entire cluster; returns the context with all facts."""
        return self.prepare(ctx, until="")

    def take_down(self, ctx: StepContext) -> None:
        """Remove every step, backwards."""
        for step in reversed(self.site.values()):
            drive_away(step, ctx)

    def gateway(self, ctx: StepContext, account: str) -> SlurmGateway:
        """Speaks to the cluster's slurmrestd as one of its accounts."""
        return gateways.of(ctx.facts["slurm"], account, ctx.secrets["slurm-jwt-key"])

    def submit(self, ctx: StepContext, script: str, *, account: str = "") -> JobId:
        """A bash script as a job of the last member, or of another account."""
        account = account or ctx.spec.accounts[-1].name
        home = self.folder(ctx) / "home" / account
        request = SubmitRequest(
            script=f"#!/bin/bash\n{script}\n",
            environment={"PATH": "/usr/bin:/bin"},
            working_directory=str(home),
            stdout=str(home / "job-%j.out"),
        )
        return self.gateway(ctx, account).submit(request).job_id

    def run(self, ctx: StepContext, script: str, *, account: str = "") -> str:
        """The output of such a job, seen to complete."""
        account = account or ctx.spec.accounts[-1].name
        job = self.submit(ctx, script, account=account)
        gateway = self.gateway(ctx, account)
        until(lambda: gateway.job(job)[0].is_finished, seconds=120, what="the job has ended")
        output = self.output(ctx, job, account=account)
        assert gateway.job(job)[0].state == "COMPLETED", output
        return output

    def output(self, ctx: StepContext, job: JobId, *, account: str = "") -> str:
        """What a job has printed so far."""
        account = account or ctx.spec.accounts[-1].name
        path = self.folder(ctx) / "home" / account / f"job-{job}.out"
        return path.read_text() if path.exists() else ""

    def slurm(self, ctx: StepContext, *command: str) -> str:
        """A Slurm command as root, for looking behind the driver's back."""
        environment = {"PATH": daemons.PATH, "SLURM_CONF": str(self.folder(ctx) / "etc" / "slurm.conf")}
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def close(self) -> None:
        """Remove everything that any of the clusters left."""
        teardown.remove_all(self.settings.data)
        assert not daemons.find(lambda conf: conf.startswith(str(self.settings.data)))
        shutil.rmtree(self.settings.data)


SLURM = ("machines", "fabric", "slurm")


def open_lab(above: str = "/var/lib", concerns: Collection[str] = SLURM, kube: Path | None = None) -> Lab:
    """A lab in a folder of its own that other users may pass through; not in /tmp, which jobs do not see."""
    data = Path(tempfile.mkdtemp(prefix="freehold-lab-", dir=above))
    data.chmod(0o711)
    settings = LocalSettings(data=data, system_user="freehold", kube=kube)
    return Lab(settings, {step.name: step for step in steps(settings, concerns)})


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


def until(condition: Callable[[], object], *, seconds: float = 60, what: str = "condition") -> None:
    """Look again and again until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def is_root() -> bool:
    """Real clusters need root."""
    return os.geteuid() == 0
