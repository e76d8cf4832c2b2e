"""Slurm's words in plain ones: why a job waits, how it ended, and what to try."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

from django.utils import translation
from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext_lazy as _

from jobs.models import TELLING_ORDER, Job, JobState
from jobs.reasons import Outcome, reason_of
from portal.lib.types import Words


def why_waiting(reason: str) -> str:
    """The reason in a sentence; Slurm's own word where there is none for it."""
    return str(reason_of(reason).what)


def counts_of(job: Job) -> str:
    """Of a line: 12 tasks: Running 3, Pending 8, Failed 1."""
    states = job.group_states or {}
    each = ", ".join(f"{JobState(state).label} {states[state]}" for state in TELLING_ORDER if state in states)
    total = job.task_total
    if job.het_job_id:
        told = ngettext("%(count)d part: %(each)s", "%(count)d parts: %(each)s", total)
    else:
        told = ngettext("%(count)d task: %(each)s", "%(count)d tasks: %(each)s", total)
    return told % {"count": total, "each": each}


_ENDED = {
    JobState.COMPLETED: Outcome(_("It ended with exit code 0.")),
    JobState.CANCELLED: Outcome(_("It was cancelled."), _("What it had written until then is still there.")),
    JobState.TIMEOUT: Outcome(
        _("It reached its time limit and was ended."),
        _("Ask for more time, or save the state in between and go on from there in a new job."),
    ),
    JobState.OUT_OF_MEMORY: Outcome(
        _("It used more memory than it had asked for and was ended, whatever its exit code says."),
        _("Ask for more memory, or work on smaller pieces."),
    ),
    JobState.NODE_FAIL: Outcome(
        _("A node on which it ran failed."),
        _("It is not the script's fault. Submit it again; the node is not used now."),
    ),
    JobState.PREEMPTED: Outcome(
        _("It had to make room for a job that goes before it."),
        _("Submit it again. Save the state in between, so that little is lost."),
    ),
    JobState.BOOT_FAIL: Outcome(
        _("Its nodes could not be started."), _("Submit it again; if that recurs, tell the operator.")
    ),
    JobState.DEADLINE: Outcome(
        _("Its deadline came before it could end."),
        _("Submit it earlier, with a later deadline or less time."),
    ),
    JobState.ENDED: Outcome(
        _("It left the queue while nobody could look, so how it ended is not known."),
        _("Look at its output: what the script wrote last tells more than we can."),
    ),
}
_LAUNCH = {
    "JobLaunchFailure": _("Look whether the working directory exists and the output file can be written."),
    "BadConstraints": _("No node can give what it asked for. Ask for less."),
}
_EXITS = {
    1: _("Its last lines of output mostly name the cause."),
    2: _("Often a wrong option or a misspelt command: look at the last lines of output."),
    126: _("A file that should be run is not executable."),
    127: _("A command was not found: look at PATH, modules and spelling."),
}


def outcome_of(job: Job) -> Outcome | None:
    """How a job ended; None while it has not."""
    if job.is_active:
        return None
    if job.state != JobState.FAILED:
        return _ENDED.get(JobState(job.state))
    # Slurm gives that reason for a script that a signal ended, too; of one that did not start it gives 53
    if (advice := _LAUNCH.get(job.reason)) and job.exit_signal not in _SIGNALS:
        return Outcome(gettext("Slurm could not run it (%(reason)s).") % {"reason": job.reason}, advice)
    if job.exit_signal:
        return _by_signal(job.exit_signal)
    code = job.exit_status or 0
    if code > 128 and code - 128 in _SIGNALS:  # what a shell says of a command that a signal ended
        told = gettext("It ended with exit code %(code)d: a command in it was ended by %(signal)s.")
        return Outcome(told % {"code": code, "signal": _SIGNALS[code - 128]}, _advice(code - 128))
    return Outcome(gettext("It ended with exit code %(code)d.") % {"code": code}, _EXITS.get(code, _EXITS[1]))


_SIGNALS = {number.value: number.name for number in signal.Signals}
_OF_SIGNAL = {
    signal.SIGKILL: _("Mostly too little memory: ask for more, and look at the last lines of output."),
    signal.SIGSEGV: _("A program used memory that is not its own: a fault in it or in one of its libraries."),
    signal.SIGBUS: _("Mostly shared memory or disk that is full."),
    signal.SIGABRT: _("A program gave up by itself: its last lines of output say why."),
    signal.SIGTERM: _("Somebody or something asked it to end."),
    signal.SIGFPE: _("A program divided by zero, or the like."),
    signal.SIGILL: _("A program was made for another kind of CPU."),
}


def _by_signal(number: int) -> Outcome:
    name = _SIGNALS.get(number) or gettext("signal %(number)d") % {"number": number}
    return Outcome(gettext("It was ended by %(signal)s.") % {"signal": name}, _advice(number))


def _advice(number: int) -> Words:
    return next((text for key, text in _OF_SIGNAL.items() if key.value == number), _EXITS[1])


# What is kept with a submit is English, and is shown in the reader's language.
ANSWER_LOST = gettext_noop("The answer was lost on the way.")
PORTAL_STOPPED = gettext_noop("The portal stopped while the job was being sent.")
CLUSTER_REMOVED = gettext_noop("The cluster was removed before anyone could look.")
DID_NOT_ARRIVE = gettext_noop(
    "Slurm's complete list of jobs does not hold it: it did not arrive."
    " Nothing runs twice if you send it again."
)
NOT_SEEN_IN_TIME = gettext_noop(
    "It is not in Slurm's list. It was not possible to look soon enough: a short job could have come and"
    " gone. Look into its output files before you submit it again."
)
# what the client of slurmrestd says, which knows no languages
_OF_THE_CLIENT = (
    gettext_noop("The cluster's Slurm API does not answer."),
    gettext_noop("The cluster's slurmctld does not answer."),
    gettext_noop("The cluster's Slurm API gave no usable answer."),
    gettext_noop("The request was sent, but it is not known whether Slurm took it."),
    gettext_noop("Slurm could not make the change just now. Nothing was changed."),
    gettext_noop("Slurm did not accept the portal's token."),
    gettext_noop("Compare the cluster's JWT key and the clocks of both machines."),
    gettext_noop("The answer took too long."),
    gettext_noop("The connection was lost before the whole answer came."),
)
_NOTE = re.compile(r"Line (\d+): (.+)", re.DOTALL)


def in_english(notes: Iterable[Words]) -> list[str]:
    """Lazy notes as they are kept."""
    with translation.override("en"):
        return [str(note) for note in notes]


def told(kept: str) -> str:
    """What was kept, in the reader's language; Slurm's own words stay as they are."""
    if match := _NOTE.fullmatch(kept):
        return gettext("Line %(line)d: %(message)s") % {"line": int(match[1]), "message": told(match[2])}
    return gettext(kept) if kept else ""
