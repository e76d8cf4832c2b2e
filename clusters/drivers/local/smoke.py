"""The smoke step: a real job in each pool through slurmrestd, seen to complete on the GPU it asked for."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from pathlib import Path

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobId
from clusters.drivers.local import files, folder, names
from clusters.drivers.local.folder import ClusterFolder
from clusters.drivers.local.guard import guarded
from clusters.drivers.local.settings import LocalSettings
from clusters.drivers.slurm_probe import gateways, smoke
from clusters.provisioning.steps import EMPTY, AccountSpec, ClusterSpec, Observed, PoolSpec, StepContext
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict

KEY = "slurm-jwt-key"
MOST_ATTEMPTS = 3
LONGEST_OUTPUT = 256


class SmokeStep:
    """Remembers what was shown: a pool is tried again only when it gets machines that were not there."""

    name = "smoke"
    component = "Slurm"
    needs: tuple[str, ...] = ("identity",)
    deadline = dt.timedelta(minutes=10)

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        return tuple(
            f"a test job in partition {pool.name}{' on one GPU' if pool.flavor.gpu_count else ''}"
            for pool in _pools(spec)
        )

    @guarded
    def observe(self, ctx: StepContext) -> Observed:
        """Look at the jobs that were handed in; what is seen to have worked is written down."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        record = files.read_json(home.state("smoke")) if folder.is_ours(home, ctx.spec) else None
        if record is None:
            return Observed(exists=False)
        pools = [pool for pool in _pools(ctx.spec) if not _shown(record, pool)]
        problems = [(self._look(ctx, home, record, pool), pool) for pool in pools]
        facts = {f"output.{pool}": str(entry["output"]) for pool, entry in record["shown"].items()}
        waiting = [(problem, pool.name) for problem, pool in problems if problem is not None]
        if not waiting:
            return Observed(exists=True, in_sync=True, ready=True, facts=facts)
        (in_sync, reason, message), pool_name = min(waiting)  # what needs an apply comes first
        # in a pool that grows, other jobs may come first; of a new pool the first job is ours
        behind = reason == "SmokeJobWaits" and pool_name in record["shown"]
        return Observed(
            exists=True,
            in_sync=in_sync,
            reason=reason,
            message=message,
            waits_for="jobs ahead in the queue" if behind else "",
            facts=facts,
        )

    @guarded
    def apply(self, ctx: StepContext) -> None:
        """Hand in a job for each pool that has none on its way; a third failure is a PermanentError."""
        names.check(ctx.spec, system_user=self._settings.system_user)
        home = folder.of(self._settings.clusters, ctx.spec)
        with folder.alone(home):
            found = files.read_json(home.state("smoke"))
            record = found or {"shown": {}, "tried": {}}
            known = {pool.name for pool in _pools(ctx.spec)}
            record = {
                part: {k: v for k, v in record[part].items() if k in known} for part in ("shown", "tried")
            }
            for pool in _pools(ctx.spec):
                if _shown(record, pool):
                    continue
                seen = self._look(ctx, home, record, pool, remember=False)
                if seen is not None and not seen[0]:
                    self._try(ctx, home, record, pool, is_lost=found is None)
            files.write_json(home.state("smoke"), record)

    @guarded
    def remove(self, ctx: StepContext) -> None:
        """Forget what was shown; the jobs go with the cluster."""
        names.check_cluster(ctx.spec)
        home = folder.of(self._settings.clusters, ctx.spec)
        if folder.is_ours(home, ctx.spec):
            home.state("smoke").unlink(missing_ok=True)

    def _look(
        self,
        ctx: StepContext,
        home: ClusterFolder,
        record: JSONDict,
        pool: PoolSpec,
        *,
        remember: bool = True,
    ) -> tuple[bool, str, str] | None:
        """None when the job worked; else whether there is nothing to do but wait, and why."""
        entry = record["tried"].get(pool.name)
        if not entry or entry["version"] != _version(pool) or entry["job"] is None:
            return False, "SmokeJobMissing", f"Partition {pool.name} has not been tried yet."
        job = smoke.look(_gateway(ctx), JobId(entry["job"]))
        if job is None:
            return False, "SmokeJobMissing", f"Slurm has forgotten job {entry['job']}."
        if not job.is_finished:
            return True, "SmokeJobWaits", f"Job {job.job_id} in partition {pool.name} is {job.state}."
        output = _read(Path(entry["file"]))
        if job.state != "COMPLETED" or not smoke.saw_a_gpu(output, pool):
            return False, "SmokeJobFailed", f"Job {job.job_id} in partition {pool.name} ended {job.state}."
        if remember:
            record["shown"][pool.name] = {
                "flavor": _flavor(pool),
                "machines": list(pool.machines),
                "output": output.strip(),
            }
            files.write_json(home.state("smoke"), record)
        return None

    def _try(
        self, ctx: StepContext, home: ClusterFolder, record: JSONDict, pool: PoolSpec, *, is_lost: bool
    ) -> None:
        entry = record["tried"].get(pool.name)
        ours = entry is not None and entry["version"] == _version(pool)
        # written down but without a number: the submit may have been done all the same
        begun = ours and entry["job"] is None
        attempt = entry["attempt"] + (not begun) if ours else 1
        if attempt > MOST_ATTEMPTS:
            del record["tried"][pool.name]
            files.write_json(home.state("smoke"), record)
            raise PermanentError(
                "SmokeJobFailed",
                f"{MOST_ATTEMPTS} test jobs in partition {pool.name} did not do what they should.",
                hint="Look at the cluster's logs, then try again.",
            )
        account, mark = _account(ctx.spec), f"{_version(pool)}-{attempt} of {ctx.spec.name}"
        output = home.home(account.name) / f"smoke-{pool.name}-{_version(pool)}-{attempt}.out"
        fresh: JSONDict = {"version": _version(pool), "attempt": attempt, "job": None, "file": str(output)}
        record["tried"][pool.name] = fresh
        files.write_json(home.state("smoke"), record)
        gateway = _gateway(ctx)
        job_id = smoke.find(gateway, account=account.name, mark=mark) if begun or is_lost else None
        if job_id is None:
            job_id = smoke.submit(gateway, pool=pool, home=str(output.parent), output=str(output), mark=mark)
        fresh["job"] = int(job_id)
        files.write_json(home.state("smoke"), record)


def _pools(spec: ClusterSpec) -> list[PoolSpec]:
    return [pool for pool in spec.pools if pool.machines]  # of one that only empties nothing is to be shown


def _account(spec: ClusterSpec) -> AccountSpec:
    for kind in ("observer", "administrator"):
        for account in spec.accounts:
            if account.kind == kind and account.active:
                return account
    raise PermanentError(
        "NoServiceAccount",
        "The cluster has no account of ours for test jobs.",
        hint="Add its observer account.",
    )


def _gateway(ctx: StepContext) -> SlurmGateway:
    return gateways.of(ctx.facts.get("slurm", EMPTY), _account(ctx.spec).name, ctx.secrets[KEY])


def _flavor(pool: PoolSpec) -> str:
    flavor = pool.flavor
    return f"{flavor.gpu_type}:{flavor.gpu_count}:{flavor.cpus}:{flavor.memory_mib}"


def _version(pool: PoolSpec) -> str:
    return hashlib.sha256(f"{_flavor(pool)} {pool.machines}".encode()).hexdigest()[:12]


def _shown(record: JSONDict, pool: PoolSpec) -> bool:
    entry = record["shown"].get(pool.name)
    return bool(entry and entry["flavor"] == _flavor(pool) and set(pool.machines) <= set(entry["machines"]))


def _read(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        return file.read(LONGEST_OUTPUT).decode(errors="replace")
