"""A real job through slurmrestd, in one partition, with a GPU where there is one."""

from __future__ import annotations

import re

from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import GpuRequest, JobId, JobRecord, SubmitRequest
from clusters.provisioning.steps import PoolSpec

NAME = "freehold-smoke"
SCRIPT = '#!/bin/sh\nprintf "%s\\n" "${CUDA_VISIBLE_DEVICES-none}"\n'
DEVICES = re.compile(r"\d+(,\d+)*")


def submit(
    gateway: SlurmGateway, *, pool: PoolSpec, home: str, output: str, mark: str, script: str = SCRIPT
) -> JobId:
    """Hand in the job; the output of the usual script is the GPUs it was given, or "none"."""
    flavor = pool.flavor
    request = SubmitRequest(
        script=script,
        environment={"PATH": "/usr/bin:/bin", "HOME": home},
        name=NAME,
        partition=pool.name,
        nodes=1,
        tasks=1,
        gpus=GpuRequest(count=1, model=flavor.gpu_type) if flavor.gpu_count else None,
        memory_mib=min(100, flavor.memory_mib),
        time_limit_minutes=5,
        working_directory=home,
        stdout=output,
        comment=mark,
    )
    return gateway.submit(request).job_id


def find(gateway: SlurmGateway, *, account: str, mark: str) -> JobId | None:
    """The job that a crashed submit may have left, by its mark. Reads the whole queue."""
    listing = gateway.jobs()
    for job in listing.jobs if listing else ():
        if (job.name, job.user_name, job.comment) == (NAME, account, mark):
            return job.job_id
    return None


def look(gateway: SlurmGateway, job_id: JobId) -> JobRecord | None:
    """The job's record, or None once Slurm has forgotten it."""
    records = gateway.job(job_id)
    return records[0] if records else None


def saw_a_gpu(output: str, pool: PoolSpec) -> bool:
    """Whether the job's output is what the pool promises."""
    return not pool.flavor.gpu_count or DEVICES.fullmatch(output.strip()) is not None
