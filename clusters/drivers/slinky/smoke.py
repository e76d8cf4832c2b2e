"""The smoke step: a real job in each pool through slurmrestd, seen to complete with the GPU it asked for."""

from __future__ import annotations

import datetime as dt
from typing import Any

from clusters.clients.slurmrest.models import JobId, JobRecord
from clusters.drivers.slinky import conf, shown
from clusters.drivers.slinky.reach import Reach, observer
from clusters.drivers.slurm_probe import smoke
from clusters.provisioning.steps import ClusterSpec, Observed, PoolSpec, StepContext
from portal.lib.errors import PermanentError

MOST_ATTEMPTS = 3
NO_GPU = 3
# nobody reads its output: the exit status says whether it saw what it asked for
SCRIPT = f"""\
#!/bin/sh
[ -n "${{CUDA_VISIBLE_DEVICES:-}}" ] || exit {NO_GPU}
command -v nvidia-smi >/dev/null || exit 0
nvidia-smi -L | grep -q GPU || exit {NO_GPU + 1}
"""
PLAIN = "#!/bin/sh\nexit 0\n"


class SmokeStep:
    """Remembers what was shown: a pool is tried again only when it gets nodes that were not there."""

    name = "smoke"
    component = "Slurm"
    needs: tuple[str, ...] = ("identity",)
    deadline = dt.timedelta(minutes=20)

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        return tuple(
            f"a test job in partition {pool.name}{' on one GPU' if pool.flavor.gpu_count else ''}"
            for pool in _pools(spec)
        )

    def observe(self, ctx: StepContext) -> Observed:
        """See Step. What is seen to have worked is written down at once."""
        record = shown.read(ctx, shown.SMOKE)
        if record is None:
            return Observed(exists=False)
        waiting = [
            (problem, pool.name)
            for pool in _pools(ctx.spec)
            if not _is_shown(record, pool) and (problem := self._look(ctx, record, pool)) is not None
        ]
        if not waiting:
            return Observed(exists=True, in_sync=True, ready=True, facts={"jobs": _told(record)})
        (in_sync, reason, message), pool_name = min(waiting)  # what needs an apply comes first
        behind = reason == "SmokeJobWaits" and pool_name in record["shown"]
        return Observed(
            exists=True,
            in_sync=in_sync,
            reason=reason,
            message=message,
            waits_for="jobs ahead in the queue" if behind else "",
        )

    def apply(self, ctx: StepContext) -> None:
        """See Step. A third failure is a PermanentError."""
        found = shown.read(ctx, shown.SMOKE)
        record = found or {"shown": {}, "tried": {}}
        if found is None:
            shown.write(ctx, shown.SMOKE, record)
        for pool in _pools(ctx.spec):
            if _is_shown(record, pool):
                continue
            problem = self._look(ctx, record, pool)
            if problem is not None and not problem[0]:
                self._try(ctx, record, pool)

    def remove(self, ctx: StepContext) -> None:
        """See Step. The jobs go with the cluster."""
        shown.forget(ctx, shown.SMOKE)

    def _look(self, ctx: StepContext, record: dict[str, Any], pool: PoolSpec) -> tuple[bool, str, str] | None:
        """None when the job worked; else whether there is nothing to do but wait, and why."""
        entry = record["tried"].get(pool.name)
        if not entry or entry["version"] != shown.of_pool(pool) or entry["job"] is None:
            return False, "SmokeJobMissing", f"Partition {pool.name} has not been tried yet."
        gateway = self._reach.gateway(ctx, observer(ctx.spec).name)
        job = smoke.look(gateway, JobId(entry["job"]))
        if job is None:
            return False, "SmokeJobMissing", f"Slurm has forgotten job {entry['job']}."
        if not job.is_finished:
            return True, "SmokeJobWaits", f"Job {job.job_id} in partition {pool.name} is {job.state}."
        if job.state != "COMPLETED":
            return False, "SmokeJobFailed", f"Job {job.job_id} in partition {pool.name} {_ended(job)}."
        record["shown"][pool.name] = {
            "flavor": shown.of_flavor(pool),
            "machines": list(pool.machines),
            "job": entry["job"],
        }
        shown.write(ctx, shown.SMOKE, record)
        return None

    def _try(self, ctx: StepContext, record: dict[str, Any], pool: PoolSpec) -> None:
        version, entry = shown.of_pool(pool), record["tried"].get(pool.name)
        ours = entry is not None and entry["version"] == version
        begun = ours and entry["job"] is None  # written down, and perhaps handed in all the same
        attempt = entry["attempt"] + (not begun) if ours else 1
        if attempt > MOST_ATTEMPTS:
            del record["tried"][pool.name]
            shown.write(ctx, shown.SMOKE, record)
            raise PermanentError(
                "SmokeJobFailed",
                f"{MOST_ATTEMPTS} test jobs in partition {pool.name} did not do what they should.",
                hint="Look at the logs of the cluster's slurmctld and workers, then try again.",
            )
        account, mark = observer(ctx.spec), f"{version}-{attempt} of {ctx.spec.name}"
        fresh: dict[str, Any] = {"version": version, "attempt": attempt, "job": None}
        record["tried"][pool.name] = fresh
        shown.write(ctx, shown.SMOKE, record)
        gateway = self._reach.gateway(ctx, account.name)
        job_id = smoke.find(gateway, account=account.name, mark=mark) if begun else None
        if job_id is None:
            job_id = smoke.submit(
                gateway,
                pool=pool,
                home=conf.home_of(account.name),
                output="/dev/null",
                mark=mark,
                script=SCRIPT if pool.flavor.gpu_count else PLAIN,
            )
        fresh["job"] = int(job_id)
        shown.write(ctx, shown.SMOKE, record)


def _pools(spec: ClusterSpec) -> list[PoolSpec]:
    return [pool for pool in spec.pools if pool.machines or pool.count]


def _is_shown(record: dict[str, Any], pool: PoolSpec) -> bool:
    entry = record["shown"].get(pool.name)
    return bool(
        entry and entry["flavor"] == shown.of_flavor(pool) and set(pool.machines) <= set(entry["machines"])
    )


def _told(record: dict[str, Any]) -> str:
    return ",".join(f"{pool}={entry['job']}" for pool, entry in sorted(record["shown"].items()))


def _ended(job: JobRecord) -> str:
    status = job.exit_code.status if job.exit_code else 0
    if status == NO_GPU:
        return "was given no GPU"
    return "saw no GPU" if status == NO_GPU + 1 else f"ended {job.state}"
