"""Machines that leave a real Slurm: emptied first, never under a running job, taken back when wanted."""

from __future__ import annotations

import dataclasses

import pytest

from clusters.provisioning.steps import PoolSpec, StepContext
from tests.clusters.drivers.lab import GPU, Lab, until
from tests.clusters.drivers.test_daemons import of_uid, start_job
from tests.clusters.drivers.test_resize import shrink
from tests.contract.driver_contract import settle

pytestmark = [pytest.mark.slow]
ORDER = ("machines", "fabric", "slurm", "identity", "smoke")


def leaving(ctx: StepContext, *machines: str) -> StepContext:
    """The same cluster with these machines on their way out."""
    pools = tuple(
        dataclasses.replace(
            pool,
            machines=tuple(machine for machine in pool.machines if machine not in machines),
            leaving=tuple(machine for machine in pool.machines if machine in machines),
        )
        for pool in ctx.spec.pools
    )
    return dataclasses.replace(ctx, spec=dataclasses.replace(ctx.spec, pools=pools))


def test_an_empty_machine_leaves_and_the_job_beside_it_goes_on(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    job = start_job(lab, ctx, "#!/bin/sh\nsleep 1011\n")
    gateway = lab.gateway(ctx, ctx.spec.accounts[-1].name)
    busy = gateway.job(job)[0].nodes
    (idle,) = set(ctx.spec.pools[0].machines) - {busy}
    smaller = leaving(ctx, idle)
    assert lab.site["slurm"].observe(smaller).in_sync is False
    for name in ORDER:
        settle(lab.site[name], smaller)
    assert {node.name for node in gateway.nodes()} == {busy}
    assert gateway.job(job)[0].state == "RUNNING"
    assert "sleep 1011" in of_uid(ctx.spec.accounts[-1].uid)
    # the site's books may still hold it: it is wiped when it is no longer in the spec at all
    assert idle in lab.site["machines"].observe(smaller).facts["machines"]


def test_a_busy_machine_waits_for_its_job_and_takes_no_other(lab: Lab) -> None:
    ctx = lab.bring_up(lab.cluster())
    job = start_job(lab, ctx, "#!/bin/sh\nsleep 1012\n")
    account = ctx.spec.accounts[-1].name
    gateway = lab.gateway(ctx, account)
    busy = gateway.job(job)[0].nodes
    smaller = leaving(ctx, busy)
    step = lab.site["slurm"]
    shrink(step, smaller)
    step.apply(smaller)
    until(lambda: (seen := step.observe(smaller)).in_sync and seen.reason == "NodesBusy", what="it waits")
    seen = step.observe(smaller)
    assert (seen.ready, seen.waits_for) == (False, "running jobs")
    assert f"job {job}" in seen.message
    assert "sleep 1012" in of_uid(ctx.spec.accounts[-1].uid)
    # taken back: as if nothing had been asked
    settle(step, ctx)
    node = next(node for node in gateway.nodes() if node.name == busy)
    assert node.is_usable
    assert gateway.job(job)[0].state == "RUNNING"
    # asked again, and the job ends
    shrink(step, smaller)
    gateway.cancel(str(job))
    settle(step, smaller)
    assert busy not in {node.name for node in gateway.nodes()}


def test_a_pool_goes_altogether_and_another_comes(lab: Lab) -> None:
    first = PoolSpec("train", GPU, ("gpu-t-1",))
    ctx = lab.bring_up(lab.cluster(pools=(first,)))
    more = dataclasses.replace(
        ctx, spec=dataclasses.replace(ctx.spec, pools=(PoolSpec("debug", GPU, ("gpu-t-2",)), first))
    )
    for name in ORDER:
        settle(lab.site[name], more)
    gateway = lab.gateway(ctx, ctx.spec.accounts[0].name)
    # the partition that was the default stays it
    assert lab.slurm(ctx, "sinfo", "-h", "-o", "%P").split() == ["debug", "train*"]
    gone = leaving(more, "gpu-t-1")
    for name in ORDER:
        settle(lab.site[name], gone)
    # the partition stays until its machines are given back, so that no job loses it while it ends
    assert {partition.name for partition in gateway.partitions()} == {"debug", "train"}
    assert {node.name for node in gateway.nodes()} == {"gpu-t-2"}
    assert "State=DRAIN" in lab.slurm(ctx, "scontrol", "show", "partition", "train")
    rest = dataclasses.replace(gone, spec=dataclasses.replace(gone.spec, pools=gone.spec.pools[:1]))
    for name in ORDER:
        settle(lab.site[name], rest)
    assert {partition.name for partition in gateway.partitions()} == {"debug"}
    assert lab.slurm(ctx, "sinfo", "-h", "-o", "%P").split() == ["debug*"]
