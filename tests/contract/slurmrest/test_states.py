"""What every API version tells of jobs and nodes that are not as usual, before real daemons."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.models import UNLIMITED, ExitCode, GpuRequest, JobId, SubmitRequest
from tests.cases import case
from tests.contract.slurmrest.asking import held, one
from tests.contract.slurmrest.lab import GPUS, SlurmLab, slurm_lab, until

pytestmark = pytest.mark.slow
PRESSING = """\
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL DefaultTime=10 PriorityTier=10 State=UP
"""


@pytest.fixture
def pressing(alpha: SlurmLab) -> Iterator[SlurmLab]:
    """A cluster with a partition to which the others give way."""
    with slurm_lab(members=1, release=alpha.release, more=PRESSING) as lab:
        yield lab


@case("U13")
def test_what_is_not_set_or_has_no_end_is_told_in_every_version(
    alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]
) -> None:
    job = held(alpha, speakers[0][1], time_limit_minutes=UNLIMITED)
    for version, gateway in speakers:
        found = one(gateway, job)
        assert (found.time_limit, found.start_time, found.exit_code) == (UNLIMITED, None, None), version
        assert (found.array_job_id, found.array_task_id, found.het_job_id) == (None, None, None)
        assert (found.memory_per_node, found.memory_per_cpu) == (None, 100)
        assert gateway.partitions()[1].max_nodes == UNLIMITED


@case("U20")
def test_gpus_of_a_busy_node_and_of_a_drained_one(
    alpha: SlurmLab, speakers: list[tuple[str, RestGateway]]
) -> None:
    node, newest = f"{alpha.name}-n1", speakers[0][1]
    job = held(alpha, newest, hold=False, nodelist=node, gpus=GpuRequest(count=2, model="a100"))
    until(lambda: one(newest, job).state == "RUNNING", what="it runs")
    alpha.command("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=a test")
    try:
        for version, gateway in speakers:
            drained, other = gateway.nodes()
            assert (drained.gpus.total, drained.gpus_available, drained.gpus_free) == (GPUS, 0, 0), version
            assert drained.gpus_allocated.by_model == (("a100", 2),)
            assert (other.gpus.total, other.gpus_available, other.gpus_free) == (GPUS, GPUS, GPUS)
            assert one(gateway, job).gpus.by_model == (("a100", 2),)
    finally:
        alpha.command("scontrol", "update", f"NodeName={node}", "State=RESUME")


@case("U15")
def test_ends_that_nobody_asked_for_are_told_in_every_version(pressing: SlurmLab) -> None:
    gateway, node = pressing.gateway(), f"{pressing.name}-n1"
    home, path = str(pressing.home()), {"PATH": "/usr/bin:/bin"}

    def running(**facts: object) -> JobId:
        job = held(pressing, gateway, hold=False, nodelist=node, **facts)
        until(lambda: one(gateway, job).state == "RUNNING", what="it runs")
        return job

    failed = gateway.submit(
        SubmitRequest(script="#!/bin/sh\nexit 3\n", environment=path, working_directory=home)
    ).job_id
    until(lambda: one(gateway, failed).is_finished, what="it has ended")
    lost, back = running(requeue=False), running(requeue=True)
    pressing.command("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=a test")
    until(lambda: (one(gateway, lost).state, one(gateway, back).state) == ("NODE_FAIL", "PENDING"))
    for version in pressing.versions:
        told = pressing.gateway(version=version)
        assert (one(told, failed).state, one(told, failed).exit_code) == ("FAILED", ExitCode(status=3))
        assert one(told, lost).state == "NODE_FAIL", version
        assert (one(told, back).state, one(told, back).restarts) == ("PENDING", 1)
    # refused where it is back already, by ReturnToService
    pressing.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False)
    until(lambda: not one(gateway, back).flags, what="it waits again")
    gateway.cancel(str(back))
    least = running()
    urgent = held(pressing, gateway, hold=False, nodelist=node, partition="urgent", sharing="exclusive")
    until(lambda: one(gateway, least).is_finished, what="it gives way")
    for version in pressing.versions:
        assert one(pressing.gateway(version=version), least).state == "PREEMPTED", version
    gateway.cancel(str(urgent))
