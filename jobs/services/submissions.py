"""Submits jobs, each exactly once: the row is committed before anything is sent."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

from django.db import IntegrityError, connection
from django.utils import translation
from django.utils.translation import gettext as _

from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from clusters.models import Cluster, SlurmIdentity
from jobs import live, outside
from jobs.models import Job, Submission, SubmissionState
from jobs.observer import turns
from jobs.observer.pace import poke
from jobs.observer.rows import save_records
from jobs.services import requests
from jobs.services.accounts import Account, account_of
from jobs.services.capacity import ClusterView, recent_view
from jobs.services.drafts import Draft, Typed, read_draft
from jobs.services.first_rows import Taken, rows_of
from jobs.services.making import Maker
from jobs.words import ANSWER_LOST, told
from portal.lib import clock
from portal.lib.copying import add_rows
from portal.lib.errors import BadInput, FreeholdError, NotAllowed, OutsideError, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.live.topics import Topic
from tenants.models import User
from tenants.rights import Action, require

MOVES = {
    SubmissionState.SENDING: {
        SubmissionState.ACCEPTED,
        SubmissionState.REFUSED,
        SubmissionState.CHECKING,
    },
    SubmissionState.CHECKING: {
        SubmissionState.ACCEPTED,
        SubmissionState.ABSENT,
        SubmissionState.UNKNOWN,
    },
    SubmissionState.ABSENT: {SubmissionState.SENDING, SubmissionState.ACCEPTED},
    SubmissionState.UNKNOWN: {SubmissionState.ACCEPTED},
}
NOT_SENT = (errors.NotReachable, errors.TokenRefused, errors.VersionGone, errors.TryAgain, WrongState)
NOT_TAKEN = (errors.Unclear, *NOT_SENT, errors.SlurmRefused, ValueError)
NO_PLACE = frozenset({"", "begin", "nice", "requeue", "hold"})  # what the form has no field for


def submit_job(*, actor: Actor, cluster: Cluster, typed: Typed, key: uuid.UUID) -> Submission:
    """Submit once for each key: a second press of the same form gets the first one's submission.

    Raises NotAllowed, WrongState, BadInput with its fields (also when Slurm refuses), and OutsideError
    when the cluster's API cannot be reached; in all these cases there is no job. A lost answer raises
    nothing: the submission is CHECKING until the observer has looked for its mark.
    """
    require(actor, Action.SUBMIT_JOB)
    user = actor.user
    if user is None:
        raise NotAllowed(_("Only people submit jobs."))
    try:
        account = account_of(actor, cluster)
        view = recent_view(cluster, account.seen_at)
        draft = read_draft(typed, view, account.rules)
        submission, request = _record(actor, user, account, draft, key)
    except (FreeholdError, IntegrityError):  # a key that was used gives what it gave, whatever holds now
        known = Submission.objects.filter(user=user, key=key).first()
        if known is None:
            raise
        return _same_cluster(known, cluster)
    return _send(actor, submission, request, view)


def send_again(*, actor: Actor, submission: Submission) -> Submission:
    """Send the same request once more, after it was proved that it did not arrive.

    Raises as submit_job does; WrongState unless the submission is ABSENT.
    """
    require(actor, Action.SUBMIT_JOB)
    if submission.user_id != (actor.user.pk if actor.user else None):
        raise NotAllowed(_("Only who submitted this can send it again."))
    account = account_of(actor, submission.cluster)
    view = recent_view(submission.cluster, account.seen_at)
    request = requests.again(submission)
    with command("job.sent_again", actor=actor, target=submission, detail={"mark": submission.mark}) as done:
        _move(submission, SubmissionState.SENDING, sent_at=clock.now(), message="")
        done.publish(_topic(submission))
    return _send(actor, submission, request, view)


def _same_cluster(known: Submission, cluster: Cluster) -> Submission:
    if known.cluster_id != cluster.pk:
        raise BadInput(_("This form was already used for another cluster."), hint=_("Open a new form."))
    return known


def _record(
    actor: Actor, user: User, account: Account, draft: Draft, key: uuid.UUID
) -> tuple[Submission, SubmitRequest]:
    """The row and its audit event, committed before anything is sent."""
    maker = Maker(user, account, draft)
    submission, request = maker.make(key)
    with command("job.submitted", actor=actor, target=submission, detail=maker.detail):
        add_rows([submission])
    return submission, request


def _send(actor: Actor, submission: Submission, request: SubmitRequest, view: ClusterView) -> Submission:
    try:
        with translation.override("en"):  # what is kept of a refusal is English
            result = outside.submit(submission.identity, request)
    except NOT_TAKEN as error:
        problem = not_taken(actor, submission, error)
        if problem is None:
            return submission
        raise problem from (None if problem is error else error)
    accept(actor, [taken_of(submission, request, result)], view)
    return submission


def not_taken(actor: Actor, submission: Submission, error: Exception) -> FreeholdError | None:
    """Keep what became of it; returns what to tell, None while nobody knows whether Slurm has it."""
    if isinstance(error, errors.Unclear):
        with command("job.unclear", actor=actor, target=submission) as done:
            _move(submission, SubmissionState.CHECKING, message=ANSWER_LOST)
            done.publish(_topic(submission))
        poke(submission.cluster)
        return None
    if isinstance(error, NOT_SENT):
        _refuse(actor, submission, error.message)
        error.message, error.hint = told(error.message), told(error.hint)
        return error
    if isinstance(error, errors.SlurmRefused):
        _refuse(actor, submission, error.message)
        return _beside_its_field(error)
    # the client sends nothing that kills slurmrestd, whatever a form let through
    _refuse(actor, submission, str(error))
    return BadInput(str(error), fields={"": str(error)})


def _refuse(actor: Actor, submission: Submission, reason: str) -> None:
    with command("job.refused", actor=actor, target=submission, detail={"reason": reason[:500]}) as done:
        _move(submission, SubmissionState.REFUSED, message=reason, answered_at=clock.now())
        done.publish(_topic(submission))


def _beside_its_field(error: errors.SlurmRefused) -> BadInput:
    """Slurm's own words, where the person can mend it."""
    field = "" if error.field in NO_PLACE else error.field
    reason = told(error.message).rstrip(".")
    said = _("Slurm refused this: %(reason)s.") % {"reason": reason}
    return BadInput(_("Slurm refused the job. Nothing was submitted."), fields={field: said})


def taken_of(submission: Submission, request: SubmitRequest, result: SubmitResult) -> Taken:
    """With Slurm's warnings."""
    return Taken(submission, request, result.job_id, " ".join(result.warnings)[:2000])


def accept(actor: Actor, taken: Sequence[Taken], view: ClusterView) -> None:
    """Keep ids, and rows of what was sent, of one cluster; the observer is asked to add the rest."""
    answered_at = clock.now()
    cluster = taken[0].submission.cluster
    with command("job.accepted", actor=actor, tenant=cluster.tenant) as done:
        due = turns.share(cluster.pk)
        rows, topics = rows_of(taken, view, answered_at=answered_at)
        _move_taken(taken, rows, answered_at)
        for one in taken:
            done.each(one.submission, {"slurm_job_id": one.job_id})
        # pages of submits that are being sent are open when a form was sent twice, not of many at once
        tell = done.publish if len(taken) == 1 else done.publish_quietly
        tell(*(_topic(one.submission) for one in taken))
        done.publish(*topics)
    poke(cluster, due=due)


def see_job(identity: SlurmIdentity, job_id: int) -> Job | None:
    """Look at one job now and keep what is seen; None when that does not work: the observer comes soon."""
    looked_at = clock.now()
    try:
        records = outside.look(identity, job_id)
    except OutsideError:
        return None
    save_records(identity.cluster, records, looked_at=looked_at)
    rows = Job.objects.filter(cluster_id=identity.cluster_id, slurm_job_id=job_id, identity=identity)
    return rows.order_by("-submit_time").first()


def _move(submission: Submission, to: SubmissionState, **columns: object) -> None:
    """Compare-and-swap along MOVES. Raises WrongState when someone else moved it."""
    sources = [source for source, targets in MOVES.items() if to in targets]
    if submission.state not in sources:
        raise WrongState(
            _("This submission is in the state: %(state)s.") % {"state": submission.get_state_display()}
        )
    moved = Submission.objects.filter(pk=submission.pk, state=submission.state).update(state=to, **columns)
    if not moved:
        submission.refresh_from_db()
        raise WrongState(
            _("This submission changed meanwhile. It is in the state: %(state)s.")
            % {"state": submission.get_state_display()}
        )
    submission.state = to
    for name, value in columns.items():
        setattr(submission, name, value)


def _move_taken(taken: Sequence[Taken], rows: Mapping[uuid.UUID, Job], answered_at: dt.datetime) -> None:
    """As _move to ACCEPTED, of several at once. Raises WrongState when someone else moved one of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE jobs_submission SET state = %s, slurm_job_id = taken.number, job_id = taken.job,"
            " message = taken.message, answered_at = %s"
            " FROM unnest(%s::uuid[], %s::bigint[], %s::uuid[], %s::text[])"
            " AS taken (id, number, job, message)"
            " WHERE jobs_submission.id = taken.id AND state = %s",
            [
                SubmissionState.ACCEPTED.value,
                answered_at,
                [one.submission.pk for one in taken],
                [one.job_id for one in taken],
                [rows[one.submission.pk].pk for one in taken],
                [one.message for one in taken],
                SubmissionState.SENDING.value,
            ],
        )
        if cursor.rowcount != len(taken):
            raise WrongState(_("This submission changed meanwhile."))
    for one in taken:
        submission = one.submission
        submission.state, submission.answered_at = SubmissionState.ACCEPTED, answered_at
        submission.slurm_job_id, submission.message = one.job_id, one.message
        submission.job = rows[submission.pk]


def _topic(submission: Submission) -> Topic:
    return Topic(submission.tenant_id, live.SUBMISSION, submission.pk)
