"""Acts on jobs: a member on own ones, an admin on any, always as the account that owns the job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from clusters.clients.slurmrest import errors
from clusters.models import IdentityKind, SlurmIdentity
from jobs import outside
from jobs.models import ACTIVE_STATES, Job
from jobs.observer.pace import poke
from jobs.services.submissions import see_job
from jobs.words import told
from portal.lib.errors import NotAllowed, TemporaryError, WrongState
from portal.lib.types import JSONDict
from tenants.actor import Actor
from tenants.commands import command
from tenants.rights import Action, may, require


def is_own(actor: Actor, job: Job) -> bool:
    """Whether the actor submitted it."""
    return actor.user is not None and job.owner_id == actor.user.pk


def may_act(actor: Actor, job: Job) -> bool:
    """Whether the actor may act on this job."""
    return may(actor, Action.ACT_ON_OWN_JOB if is_own(actor, job) else Action.ACT_ON_ANY_JOB)


def may_read_output(actor: Actor, job: Job) -> bool:
    """Whether the actor may see this job's script and output."""
    return may(actor, Action.READ_OWN_OUTPUT if is_own(actor, job) else Action.READ_ANY_OUTPUT)


def require_output(actor: Actor, job: Job) -> None:
    """Raise NotAllowed unless `may_read_output`."""
    if not may_read_output(actor, job):
        raise NotAllowed(_("Only who submitted a job and the tenant's admins see its script and output."))


def require_act(actor: Actor, job: Job) -> None:
    """Raise NotAllowed unless `may_act`."""
    require(actor, Action.ACT_ON_OWN_JOB if is_own(actor, job) else Action.ACT_ON_ANY_JOB)


def cancel_job(*, actor: Actor, job: Job) -> Job:
    """End a job, or one task of an array; the waiting rest of an array and a part of a het job end all of it.

    Raises NotAllowed, WrongState when it ended already, and OutsideError.
    """
    require_act(actor, job)
    return end_job(actor=actor, job=job)


def end_job(*, actor: Actor, job: Job, why: str = "", address: str = "", signal: str = "") -> Job:
    """As cancel_job, of an actor whose right to it was seen; `why` stands in the audit row.

    With a signal the job is told something, and ends or not as it likes.
    """
    identity = account_of(job)
    where = address or address_of(job)
    more: JSONDict = {"why": why} if why else {}
    if signal:
        more["signal"] = signal
    verb = "job.signalled" if signal else "job.cancelled"
    with asking(verb, actor=actor, job=job, identity=identity, address=where, more=more):
        outside.cancel(identity, where, signal=signal or None)
    return seen_again(job)


def account_of(job: Job, *, whole: bool = False) -> SlurmIdentity:
    """As whom something can be done to an active job. Raises WrongState.

    `whole`: the row stands for an array or a set, and others of it may be active.
    """
    is_active = job.line_state in ACTIVE_STATES if whole and job.group_states else job.is_active
    if not is_active:
        raise WrongState(
            _("Job %(job)s already ended: %(state)s.") % {"job": job.label, "state": job.get_state_display()}
        )
    if job.identity is None:
        raise WrongState(
            _("This job was not submitted by a member of the tenant, so nobody can be asked to end it.")
        )
    return job.identity


def administrator_of(job: Job) -> SlurmIdentity:
    """The account for what Slurm lets only operators do. Raises WrongState while there is none."""
    found = SlurmIdentity.objects.filter(
        cluster_id=job.cluster_id, kind=IdentityKind.ADMINISTRATOR, active=True
    ).first()
    if found is None:
        raise WrongState(_("The cluster has no administrator account yet."))
    return found


@contextmanager
def asking(
    verb: str, *, actor: Actor, job: Job, identity: SlurmIdentity, address: str, more: JSONDict
) -> Iterator[None]:
    """Around the one request to Slurm: recorded before, looked at after, and a forgotten job has ended."""
    detail = {
        "job": job.label,
        "cluster": job.cluster.name,
        "as": identity.name,
        "owner": str(job.owner),
        "others": not is_own(actor, job),
        **({"address": address} if address != job.label else {}),
        **more,
    }
    # recorded before it is asked: what was done to somebody's job is never without a trace
    with command(verb, actor=actor, target=job, detail=detail):
        pass
    try:
        yield
    except errors.UnknownJob as error:
        raise WrongState(
            _("Job %(job)s already ended; Slurm has forgotten it.") % {"job": job.label}
        ) from error
    except TemporaryError as error:
        error.message, error.hint = told(error.message), told(error.hint)
        if isinstance(error, errors.Unclear):
            error.hint = _("It may be done all the same. Look at the job before you ask again.")
        raise
    finally:
        poke(job.cluster)


def seen_again(job: Job) -> Job:
    """The job as it is after the act; what cannot be seen yet comes with the observer."""
    if job.identity is not None:
        see_job(job.identity, job.array_job_id or job.slurm_job_id)
    job.refresh_from_db()
    return job


def address_of(job: Job, *, whole: bool = False) -> str:
    """How Slurm is told which job: a task as 500_7, because the last task bears the whole array's id.

    `whole`: all that the row stands for in a list.
    """
    if whole and job.group_states:
        return str(job.group_id)
    if job.array_job_id and job.array_task_id is not None:
        return f"{job.array_job_id}_{job.array_task_id}"
    return str(job.het_job_id or job.slurm_job_id)
