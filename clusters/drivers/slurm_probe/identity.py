"""Shows that a cluster runs a member's jobs as the member: a held job, looked at and cancelled."""

from __future__ import annotations

from clusters.clients.slurmrest.errors import NotPermitted, UnknownJob
from clusters.clients.slurmrest.gateway import SlurmGateway
from clusters.clients.slurmrest.models import JobId, SubmitRequest
from portal.lib.errors import PermanentError, TemporaryError

NAME = "freehold-probe"
SCRIPT = "#!/bin/sh\nexit 0\n"


def check_identity(gateway: SlurmGateway, *, account: str, home: str) -> JobId:
    """Submit a held job with the account's own token, compare its user, cancel it; returns its id.

    A controller without such a unix account would take the job as uid 99: an accepted submit proves
    nothing. Raises TemporaryError, or PermanentError WrongIdentity.
    """
    job_id = gateway.submit(_request(home)).job_id
    try:
        records = gateway.job(job_id)
    finally:
        _cancel(gateway, job_id)
    if not records:
        raise TemporaryError("ProbeLost", f"The probe job of {account} is not to be seen.")
    found = records[0].user_name
    if found != account:
        raise PermanentError(
            "WrongIdentity",
            f"The cluster runs jobs of {account} as {found or 'nobody it knows'}.",
            hint="Look at the user files of the cluster's controller.",
        )
    return job_id


def cancel_leftovers(gateway: SlurmGateway, *, account: str) -> None:
    """Cancel held probes that a crash left. Reads the whole queue, so only to be called after one."""
    listing = gateway.jobs()
    for job in listing.jobs if listing else ():
        if job.name == NAME and job.user_name == account and not job.is_finished:
            _cancel(gateway, job.job_id)


def _request(home: str) -> SubmitRequest:
    return SubmitRequest(
        script=SCRIPT,
        environment={"PATH": "/usr/bin:/bin", "HOME": home},
        name=NAME,
        nodes=1,
        tasks=1,
        time_limit_minutes=1,
        working_directory=home,
        stdout="/dev/null",
        hold=True,
    )


def _cancel(gateway: SlurmGateway, job_id: JobId) -> None:
    try:
        gateway.cancel(str(job_id))
    except (UnknownJob, NotPermitted):
        return  # not permitted: the job is of nobody that Slurm knows, which is told by whoever looks at it
