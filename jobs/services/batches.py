"""Submits many jobs in one call, each exactly once and with rows of its own; what they share is done once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import TypeAlias

from django.db import IntegrityError
from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import SubmitRequest, SubmitResult
from clusters.models import Cluster
from jobs import outside
from jobs.models import Submission
from jobs.services.accounts import Account, account_of
from jobs.services.capacity import ClusterView, recent_view
from jobs.services.drafts import DraftRefused, Typed, read_draft
from jobs.services.making import Maker
from jobs.services.submissions import NOT_SENT, accept, not_taken, taken_of
from jobs.words import told
from portal.lib.copying import add_rows
from portal.lib.errors import BadInput, NotAllowed, WrongState
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import User
from tenants.rights import Action, require

MOST = 100  # jobs of one call
AT_ONCE = 50  # of which the rows are committed together, before the first of them is sent
PATIENCE = 20.0  # seconds after which no more are sent; who sent the call waits for all of it
Made: TypeAlias = list[tuple[Submission, SubmitRequest]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job of a call. Without a submission nothing was sent, and the same call sends it."""

    submission: Submission | None = None
    problem: str = ""
    fields: dict[str, str] = field(default_factory=dict)


def submit_jobs(
    *, actor: Actor, cluster: Cluster, typed: Sequence[Typed], keys: Sequence[uuid.UUID]
) -> list[Outcome]:
    """Submit once for each key; one outcome for each, in their order. The same keys go on where it ended.

    Raises as submit_job does where nothing was sent at all: BadInput names each problem of each job by its
    number and field ("3.nodes"). What Slurm says to one job is that job's outcome.
    """
    require(actor, Action.SUBMIT_JOB)
    if actor.user is None:
        raise NotAllowed(_("Only people submit jobs."))
    known = {one.key: one for one in Submission.objects.filter(user=actor.user, key__in=keys)}
    if any(one.cluster_id != cluster.pk for one in known.values()):
        raise BadInput(_("This form was already used for another cluster."), hint=_("Open a new form."))
    if len(known) == len(keys):
        return [_known(known[key]) for key in keys]
    account = account_of(actor, cluster)
    view = recent_view(cluster, account.seen_at)
    makers = _makers(typed, view, actor.user, account)
    rest = [(maker, key) for maker, key in zip(makers, keys, strict=True) if key not in known]
    new = _Sender(actor, account, view).send_all(rest)
    not_sent = Outcome(problem=_("Not sent: Slurm took too long. Send the same again to go on."))
    return [_known(known[key]) if key in known else new.get(key, not_sent) for key in keys]


def _known(submission: Submission) -> Outcome:
    refused = submission.state == "refused"
    return Outcome(submission, told(submission.message) if refused else "")


def _makers(typed: Sequence[Typed], view: ClusterView, user: User, account: Account) -> list[Maker]:
    """One for each, and the same one for those that follow each other alike. Raises BadInput.

    Nothing is sent unless all can be.
    """
    rules = account.rules
    problems: dict[str, str] = {}
    makers: list[Maker] = []
    first = 0
    for one, alike in groupby(typed):
        numbers = range(first, first + sum(1 for _ in alike))
        first = numbers.stop
        try:
            makers += [Maker(user, account, read_draft(one, view, rules))] * len(numbers)
        except DraftRefused as error:
            for number in numbers:
                problems |= {f"{number}.{name}": message for name, message in error.fields.items()}
    if problems:
        raise BadInput(_("Some of this cannot be sent. Nothing was submitted."), fields=problems)
    return makers


@dataclass(slots=True)
class _Sender:
    """Records, sends and settles some at a time: while these are being sent, those before are settled."""

    actor: Actor
    account: Account
    view: ClusterView
    outcomes: dict[uuid.UUID, Outcome] = field(default_factory=dict)
    is_silent: bool = False  # Slurm gave no answer: it is asked no more in this call

    def send_all(self, rest: Sequence[tuple[Maker, uuid.UUID]]) -> dict[uuid.UUID, Outcome]:
        """Of each key what became of its job; of one that was not sent, nothing."""
        ends = time.monotonic() + PATIENCE
        left = iter(rest)
        with outside.submitting(self.account.identity) as several, ExitStack() as last:
            while (some := list(islice(left, AT_ONCE))) and not self.is_silent and time.monotonic() < ends:
                made = self._record(some)
                try:
                    wait = several.begin([request for _submission, request in made])
                except NOT_SENT as error:  # not one of them
                    wait = partial(list, [error] * len(made))
                last.pop_all().close()
                last.callback(self._settle, made, wait)
        return self.outcomes

    def _settle(self, made: Made, wait: Callable[[], list[SubmitResult | Exception]]) -> None:
        answers = list(zip(made, wait(), strict=True))
        taken = [
            taken_of(submission, request, answer)
            for (submission, request), answer in answers
            if isinstance(answer, SubmitResult)
        ]
        if taken:
            accept(self.actor, taken, self.view)
        for (submission, _request), answer in answers:
            self.outcomes[submission.key] = self._outcome(submission, answer)

    def _record(self, some: Sequence[tuple[Maker, uuid.UUID]]) -> Made:
        """The rows and their audit events, committed before anything is sent."""
        tenant = self.account.identity.cluster.tenant
        made: Made = []
        try:
            with command("job.submitted", actor=self.actor, tenant=tenant) as done:
                for maker, key in some:
                    submission, request = maker.make(key)
                    made.append((submission, request))
                    done.each(submission, maker.detail)
                add_rows([submission for submission, _request in made])
        except IntegrityError as error:
            raise WrongState(
                _("The same request is being worked on already."), hint=_("Send it again in a few seconds.")
            ) from error
        return made

    def _outcome(self, submission: Submission, answer: SubmitResult | Exception) -> Outcome:
        if isinstance(answer, SubmitResult):
            return Outcome(submission)
        problem = not_taken(self.actor, submission, answer)
        if problem is None or isinstance(problem, NOT_SENT):
            self.is_silent = True
        if problem is None:
            return Outcome(submission)
        return Outcome(submission, problem.message, getattr(problem, "fields", {}))
