"""Pools that grow and shrink below running jobs."""

from __future__ import annotations

import dataclasses
from contextlib import suppress

import pytest

from clusters.clients.slurmrest.models import JobId, JobRecord
from clusters.drivers.local import daemons
from clusters.provisioning.steps import Step, StepContext
from portal.lib.errors import TemporaryError
from tests.clusters.drivers.lab import Lab, until
from tests.contract.driver_contract import settle

pytestmark = [pytest.mark.slow]
WAIT = 'echo $$ >>began; until [ -e "enough-$SLURM_JOB_ID" ]; do sleep 0.1; done; srun echo done'


def with_machines(ctx: StepContext, *machines: str) -> StepContext:
    """The same cluster with other machines in its pool."""
    (pool,) = ctx.spec.pools
    spec = dataclasses.replace(ctx.spec, pools=(dataclasses.replace(pool, machines=tuple(sorted(machines))),))
    return dataclasses.replace(ctx, spec=spec)


def record(lab: Lab, ctx: StepContext, job: JobId) -> JobRecord:
    """A job of the last member."""
    return lab.gateway(ctx, ctx.spec.accounts[-1].name).job(job)[0]


def start(lab: Lab, ctx: StepContext) -> JobRecord:
    """A job that runs until it is told that it is enough."""
    job = lab.submit(ctx, WAIT)
    home = lab.folder(ctx) / "home" / ctx.spec.accounts[-1].name
    until(lambda: record(lab, ctx, job).state == "RUNNING" and (home / "began").exists(), what="the job runs")
    return record(lab, ctx, job)


def finish(lab: Lab, ctx: StepContext, job: JobRecord) -> None:
    """Let a job end, and see that it was started once and ends well."""
    home = lab.folder(ctx) / "home" / ctx.spec.accounts[-1].name
    (home / f"enough-{job.job_id}").touch()
    until(lambda: record(lab, ctx, job.job_id).is_finished, what="the job has ended")
    output = lab.output(ctx, job.job_id)
    assert (record(lab, ctx, job.job_id).state, output) == ("COMPLETED", "done\n")
    assert len((home / "began").read_text().split()) == 1


def shrink(step: Step, ctx: StepContext) -> None:
    """Take out what is idle, until only busy machines are left to go."""
    while step.observe(ctx).reason != "NodesBusy":
        with suppress(TemporaryError):
            step.apply(ctx)


def slurmds(lab: Lab, ctx: StepContext) -> set[str]:
    """The nodes whose slurmd runs."""
    found = daemons.of_cluster(lab.folder(ctx) / "etc" / "slurm.conf", range(2**31))
    return {role.removeprefix("slurmd-") for role in found if role.startswith("slurmd-")}


def test_a_job_lives_through_a_pool_that_grows_and_shrinks(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    first, second = ctx.spec.pools[0].machines
    job = start(lab, ctx)
    assert job.nodes == first

    larger = lab.bring_up(with_machines(ctx, first, second, f"{second}x"))
    assert slurmds(lab, ctx) == {first, second, f"{second}x"}
    assert record(lab, ctx, job.job_id).state == "RUNNING"

    smaller = lab.bring_up(with_machines(larger, first))
    assert slurmds(lab, ctx) == {first}
    assert sorted(path.name for path in (lab.folder(ctx) / "tmp").iterdir()) == [first]
    assert record(lab, ctx, job.job_id).state == "RUNNING"
    # by then slurmctld gives out steps again; an srun that comes earlier waits for its own next try
    assert lab.run(smaller, "echo $SLURMD_NODENAME") == f"{first}\n"
    finish(lab, smaller, job)


def test_a_busy_machine_leaves_when_its_job_has_ended(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    first, second = ctx.spec.pools[0].machines
    third = f"{second}x"
    ctx = lab.bring_up(with_machines(ctx, first, second, third))
    job = start(lab, ctx)
    assert job.nodes == first

    # the idle one goes at once, the busy one takes no new jobs and stays until its job ends
    smaller, step = with_machines(ctx, third), lab.site["slurm"]
    assert step.observe(smaller).in_sync is False
    shrink(step, smaller)
    seen = step.observe(smaller)
    assert (seen.in_sync, seen.ready) == (True, False)
    assert first in seen.message
    assert seen.facts["nodes"] == third
    assert slurmds(lab, ctx) == {first, third}
    step.apply(smaller)
    assert record(lab, smaller, job.job_id).state == "RUNNING"
    assert [lab.run(smaller, "echo $SLURMD_NODENAME") for _ in range(2)] == [f"{third}\n"] * 2

    finish(lab, smaller, job)
    until(lambda: step.observe(smaller).reason == "NodesLeaving", what="it may go")
    settle(step, smaller)
    assert slurmds(lab, ctx) == {third}


def test_a_shrink_that_is_taken_back_gives_the_busy_machine_its_partition_again(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    first, second = ctx.spec.pools[0].machines
    job = start(lab, ctx)
    smaller, step = with_machines(ctx, second), lab.site["slurm"]
    shrink(step, smaller)
    settle(step, ctx)
    nodes = {node.name: node.partitions for node in lab.gateway(ctx, ctx.spec.accounts[0].name).nodes()}
    assert nodes == {first: ("train",), second: ("train",)}
    finish(lab, ctx, job)
