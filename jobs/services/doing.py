"""Does one act to one job: checked, recorded, asked once, and looked at again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from clusters.clients.slurm_console.console import Unreadable
from clusters.clients.slurmrest import errors
from clusters.clients.slurmrest.changes import CannotAsk, JobChanges, UpdateResult
from clusters.clients.slurmrest.models import JobRecord
from clusters.models import SlurmIdentity
from jobs import outside
from jobs.models import Job
from jobs.parsing.array import parse_array
from jobs.parsing.refusal import Refusal
from jobs.services import actions, changes
from jobs.services.acts import CANCEL, CHANGE, SIGNALS, Act, why_not
from portal.lib.errors import BadInput, NotAllowed, OutsideError, WrongState
from tenants.actor import Actor
from tenants.rights import Action, may

MOST_TASKS = 100  # of one array in one act, each is asked for by itself
MOST_INDEX = 1_000_001
_SPAN = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wish:
    """What to do, and how. `tasks` are some of an array that waits, "8-10,12"; else all of them are meant.

    `whole`: a row that stands for an array or a set in a list means all of it, whatever its own task does.
    """

    act: Act
    signal: str = ""
    tasks: str = ""
    whole: bool = False
    changes: JobChanges | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The job as it was seen after the act. `differs` names what Slurm took and did not do."""

    job: Job
    differs: tuple[str, ...] = ()


def do(*, actor: Actor, job: Job, wish: Wish) -> Done:
    """Do it as the job's owner, or as the cluster's administrator what only operators may.

    Raises NotAllowed; WrongState where the job's state or the site does not allow it, or Slurm refuses;
    BadInput for tasks, signals and changes that cannot be; and OutsideError when it is not known.
    """
    actions.require_act(actor, job)
    act = wish.act
    if act.as_administrator and not may(actor, Action.ACT_ON_ANY_JOB):
        raise NotAllowed(_("Only the tenant's admins may do this."))
    owner = actions.account_of(job, whole=wish.whole)
    states = set(job.group_states or {}) if wish.whole and job.group_states else {job.state}
    if states.isdisjoint(act.states):
        raise WrongState(
            _("Job %(job)s is in a state in which this cannot be done: %(state)s.")
            % {"job": job.label, "state": job.get_state_display()}
        )
    if why := why_not(actor, job.cluster, act):
        raise WrongState(why)
    addresses = _addresses(job, wish)
    _check(wish)
    identity = actions.administrator_of(job) if act.as_administrator else owner
    told: list[str] = []
    for address in addresses:
        told += _ask(actor, job, identity, wish, address)
    seen = actions.seen_again(job)
    if asked := _changes_of(wish):
        told += changes.differences(_records(owner, addresses), asked)
    return Done(seen, tuple(dict.fromkeys(told)))


def _changes_of(wish: Wish) -> JobChanges | None:
    if wish.act.name in {"hold", "release"}:
        return JobChanges(hold=wish.act.name == "hold")
    return wish.changes


def _check(wish: Wish) -> None:
    if wish.signal and (wish.act.name != CANCEL or wish.signal not in SIGNALS):
        raise BadInput(fields={"signal": _("Choose one of these signals.")})
    if wish.act.name == CHANGE and wish.changes is None:
        raise BadInput(_("Nothing is to be changed."), fields={"": _("Change at least one value.")})


def _addresses(job: Job, wish: Wish) -> list[str]:
    """How Slurm is told: one address, or one for each task."""
    tasks = wish.tasks
    if not tasks.strip():
        return [actions.address_of(job, whole=wish.whole)]
    if not job.is_folded:
        raise BadInput(fields={"tasks": _("Only an array that waits has tasks to choose from.")})
    try:
        parse_array(tasks, max_size=MOST_INDEX)
    except Refusal as refusal:
        raise BadInput(fields={"tasks": str(refusal)}) from refusal
    chosen, waits = _numbers(re.sub(r"\s", "", tasks)), set(_numbers(job.array_tasks.rstrip("…")))
    if len(chosen) > MOST_TASKS:
        raise BadInput(fields={"tasks": _("At most %(most)d tasks at a time.") % {"most": MOST_TASKS}})
    if gone := [number for number in chosen if number not in waits]:
        told = _("These tasks do not wait: %(tasks)s.") % {"tasks": ", ".join(map(str, gone[:10]))}
        raise BadInput(fields={"tasks": told})
    return [f"{job.array_job_id}_{number}" for number in chosen]


def _ask(actor: Actor, job: Job, identity: SlurmIdentity, wish: Wish, address: str) -> list[str]:
    """What Slurm said beside doing it."""
    more = changes.for_the_trail(wish.changes) if wish.changes else {}
    if wish.signal:
        more["signal"] = wish.signal
    verb = "job.signalled" if wish.signal not in {"", "KILL"} else wish.act.verb
    with actions.asking(verb, actor=actor, job=job, identity=identity, address=address, more=more):
        try:
            said = _send(job.identity or identity, identity, wish, address)
        except errors.UnknownJob:
            raise
        except errors.SlurmRefused as refused:
            raise WrongState(_("Slurm refused this: %(reason)s") % {"reason": refused.message}) from refused
        except CannotAsk as error:
            raise changes.cannot(error) from error
        except ValueError as error:  # the client never sends what cannot be, whatever a form let through
            raise BadInput(str(error), fields={"": str(error)}) from error
    return [] if said is None else [*said.warnings, *(f"{task}: {words}" for task, words in said.refused)]


def _send(owner: SlurmIdentity, identity: SlurmIdentity, wish: Wish, address: str) -> UpdateResult | None:
    if wish.act.name == CANCEL:
        outside.cancel(identity, address, signal=wish.signal or None)
    elif asked := _changes_of(wish):
        return outside.update(identity, address, asked)
    else:
        _by_console(owner, identity, wish.act.name, address)
    return None


def _by_console(owner: SlurmIdentity, identity: SlurmIdentity, name: str, address: str) -> None:
    """Ask, and where the answer cannot be read look what became of it."""
    before = _records(owner, [address])
    try:
        outside.console_act(identity, name, address)
    except Unreadable as error:
        if name not in _SEEN_BY:
            raise
        after = _records(owner, [address])
        if not after or not _SEEN_BY[name](before, after):
            raise WrongState(
                _("Slurm did not do this, and this release does not say why: it may not be permitted.")
            ) from error


def _priority(records: Sequence[JobRecord]) -> int:
    return max((one.priority for one in records if isinstance(one.priority, int)), default=0)


# by act: whether it came about, by the records before and after
_SEEN_BY: Mapping[str, Callable[[Sequence[JobRecord], Sequence[JobRecord]], bool]] = {
    "suspend": lambda _, after: all(one.state == "SUSPENDED" for one in after),
    "resume": lambda _, after: all(one.state != "SUSPENDED" for one in after),
    "top": lambda before, after: _priority(after) > _priority(before),
}


def _records(owner: SlurmIdentity, addresses: list[str]) -> list[JobRecord]:
    """The very records that were changed, as they are now; none where they cannot be seen."""
    wanted = {tuple(address.partition("_")[::2]) for address in addresses}
    try:
        found = outside.look(owner, int(addresses[0].partition("_")[0]))
    except OutsideError:
        return []
    return [
        record
        for record in found
        if any(
            task in {"", str(record.array_task_id)}
            and number in {str(record.job_id), str(record.array_job_id)}
            for number, task in wanted
        )
        and not record.is_finished
    ]


def _numbers(text: str) -> list[int]:
    """The tasks of a text that parse_array took."""
    found: set[int] = set()
    for part in text.partition("%")[0].split(","):
        first, last, step = _SPAN.fullmatch(part.strip()).group(1, 2, 3)  # type: ignore[union-attr]
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return sorted(found)
