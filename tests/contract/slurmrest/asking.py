"""Jobs that tests of every version ask for, and look at again."""

from __future__ import annotations

from clusters.clients.slurmrest.client import RestGateway
from clusters.clients.slurmrest.models import JobId, JobRecord, SubmitRequest
from portal.lib.types import JSONDict
from tests.contract.slurmrest.lab import SlurmLab

SLEEP = "#!/bin/sh\nexec sleep 300\n"


def held(lab: SlurmLab, gateway: RestGateway, **facts: object) -> JobId:
    """A job that waits."""
    given: JSONDict = {"environment": {"PATH": "/usr/bin:/bin"}, "hold": True, **facts}
    return gateway.submit(SubmitRequest(script=SLEEP, working_directory=str(lab.home()), **given)).job_id


def one(gateway: RestGateway, job_id: int) -> JobRecord:
    (job,) = gateway.job(job_id)
    return job
