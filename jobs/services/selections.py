"""One act on several jobs: each id is looked up again within the tenant, and each is told what happened."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.clients.slurmrest import errors
from jobs.models import ACTIVE_STATES, Job
from jobs.services.actions import address_of
from jobs.services.acts import CHANGE, Act
from jobs.services.doing import Wish, do
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, OutsideError, WrongState
from tenants.actor import Actor
from tenants.rights import Action, require

MOST = 200
BUDGET = dt.timedelta(seconds=25)  # of one request; who is not reached is told so
ROWS = Job.objects.select_related("cluster__site", "owner", "identity")


class Result(enum.Enum):
    """What happened to one job; the value is for programs, the label for people."""

    DONE = "done"
    WITH_OTHER = "done_with_other"
    ENDED = "ended"
    NOT_POSSIBLE = "not_possible"
    NOT_PERMITTED = "not_permitted"
    NOT_FOUND = "not_found"
    UNCLEAR = "unclear"
    UNREACHABLE = "unreachable"
    NOT_TRIED = "not_tried"

    @property
    def label(self) -> str:
        """In a word or three."""
        return str(_LABELS[self])

    @property
    def is_done(self) -> bool:
        """Whether what was asked for came about."""
        return self in {Result.DONE, Result.WITH_OTHER}

    @property
    def tone(self) -> str:
        """The colour of its badge."""
        if self.is_done:
            return "good"
        return "waiting" if self in {Result.ENDED, Result.UNCLEAR, Result.NOT_TRIED} else "failed"


_LABELS = {
    Result.DONE: gettext_lazy("Done"),
    Result.WITH_OTHER: gettext_lazy("Done with another one"),
    Result.ENDED: gettext_lazy("Already ended"),
    Result.NOT_POSSIBLE: gettext_lazy("Not possible"),
    Result.NOT_PERMITTED: gettext_lazy("Not permitted"),
    Result.NOT_FOUND: gettext_lazy("Not found"),
    Result.UNCLEAR: gettext_lazy("Not known"),
    Result.UNREACHABLE: gettext_lazy("Cluster does not answer"),
    Result.NOT_TRIED: gettext_lazy("Not tried"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one job of the selection; `job` is None for an id that the tenant does not have."""

    key: uuid.UUID
    job: Job | None
    result: Result
    message: str = ""


def read_keys(texts: Iterable[str]) -> list[uuid.UUID]:
    """The ids of a form, each once. Raises BadInput for none, for too many and for what is no id."""
    try:
        keys = list(dict.fromkeys(uuid.UUID(text) for text in texts))
    except ValueError as error:
        raise BadInput(_("This selection cannot be read. Choose again.")) from error
    if not keys:
        raise BadInput(_("Choose at least one job."))
    if len(keys) > MOST:
        raise BadInput(_("At most %(most)d jobs at a time.") % {"most": MOST})
    return keys


def chosen(actor: Actor, keys: Sequence[uuid.UUID]) -> list[Job]:
    """Those of the ids that the tenant has, in the order of the list; for the question."""
    require(actor, Action.ACT_ON_OWN_JOB)
    return list(ROWS.for_actor(actor).filter(pk__in=keys).order_by("-submit_time", "-id"))


def act_on(*, actor: Actor, act: Act, keys: Sequence[uuid.UUID], signal: str = "") -> list[Outcome]:
    """One after the other, each as its row says now. Raises NotAllowed and BadInput before the first."""
    require(actor, Action.ACT_ON_OWN_JOB)
    if act.name == CHANGE:
        raise BadInput(_("One job is changed at a time."))
    return list(_Round(actor, Wish(act, signal=signal, whole=True)).run(keys))


class _Round:
    """What was asked already in this request, and which clusters were silent."""

    def __init__(self, actor: Actor, wish: Wish) -> None:
        self._actor = actor
        self._wish = wish
        self._until = clock.now() + BUDGET
        self._asked: dict[tuple[uuid.UUID, str], Job] = {}
        self._silent: set[uuid.UUID] = set()

    def run(self, keys: Sequence[uuid.UUID]) -> Iterable[Outcome]:
        """In the order of the keys."""
        for key in keys:
            job = ROWS.for_actor(self._actor).filter(pk=key).first()
            if job is None:
                yield Outcome(key, None, Result.NOT_FOUND, _("There is no such job in this tenant."))
            elif clock.now() > self._until:
                yield Outcome(key, job, Result.NOT_TRIED, _("The time ran out. Choose it again."))
            elif job.cluster_id in self._silent:
                yield Outcome(key, job, Result.UNREACHABLE, _("Its cluster did not answer before."))
            else:
                yield self._one(key, job)

    def _one(self, key: uuid.UUID, job: Job) -> Outcome:
        address = job.cluster_id, address_of(job, whole=True)
        if (other := self._asked.get(address)) is not None:
            told = _("Slurm was asked once for both: %(job)s.") % {"job": other.line_label}
            return Outcome(key, job, Result.WITH_OTHER, told)
        result, message = self._do(job)
        if result is Result.DONE:
            self._asked[address] = job
        return Outcome(key, job, result, message)

    def _do(self, job: Job) -> tuple[Result, str]:
        try:
            do(actor=self._actor, job=job, wish=self._wish)
        except NotAllowed as error:
            return Result.NOT_PERMITTED, error.message
        except WrongState as error:
            return (Result.NOT_POSSIBLE if _still_active(job) else Result.ENDED), error.message
        except errors.Unclear as error:
            return Result.UNCLEAR, error.message
        except OutsideError as error:
            self._silent.add(job.cluster_id)
            return Result.UNREACHABLE, error.message
        return Result.DONE, ""


def _still_active(job: Job) -> bool:
    """As its row, or the array for which it stands, was seen last."""
    return (job.line_state if job.group_states else job.state) in ACTIVE_STATES
