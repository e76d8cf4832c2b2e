"""Slurm's words in plain ones: why a job waits, how it ended, and what to try."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from jobs.models import Job, JobState
from portal.lib.types import Words

# Reasons of waiting jobs as slurmctld names them (src/common/job_state_reason.c).
WAITING = {
    "Priority": _("Other jobs come first. It starts when it is its turn."),
    "Resources": _("It is its turn, and it waits for nodes to become free."),
    "Dependency": _("It waits for another job to end."),
    "DependencyNeverSatisfied": _("The job it depends on ended otherwise than asked for: it never starts."),
    "BeginTime": _("It may not start before a set time."),
    "JobHeldUser": _("It is held by its owner, or could not be started. Release it, or look at its script."),
    "JobHeldAdmin": _("It is held by an administrator, who alone can release it."),
    "JobArrayTaskLimit": _("As many tasks of the array run as are allowed at a time."),
    "PartitionDown": _("The partition is closed."),
    "PartitionInactive": _("The partition takes jobs but starts none."),
    "PartitionNodeLimit": _("It asks for more nodes than the partition allows, or its nodes are down."),
    "PartitionTimeLimit": _("It asks for more time than this partition allows: it will never start."),
    "NodeDown": _("A node that it needs is down."),
    "ReqNodeNotAvail": _("A node that it needs is down, drained or reserved."),
    "BadConstraints": _("No node can ever give what it asks for: it will never start."),
    "Licenses": _("It waits for licences."),
    "Reservation": _("It waits for its reservation to begin."),
    "ReservationDeleted": _("Its reservation was removed."),
    "InvalidAccount": _("Its Slurm account is not valid."),
    "InvalidQOS": _("Its QOS is not valid."),
    "QOSJobLimit": _("Its QOS has as many jobs as it may."),
    "QOSResourceLimit": _("Its QOS uses as much as it may."),
    "QOSTimeLimit": _("Its QOS does not allow so much time."),
    "QOSUsageThreshold": _("Its QOS has used up its share."),
    "AssociationJobLimit": _("Its Slurm account has as many jobs as it may."),
    "AssociationResourceLimit": _("Its Slurm account uses as much as it may."),
    "AssociationTimeLimit": _("Its Slurm account may not use so much time."),
    "FrontEndDown": _("No node can start it at the moment."),
    "Cleaning": _("It was put back into the queue and cleans up first."),
    "Prolog": _("The nodes are being prepared for it."),
    "SchedDefer": _("Slurm puts off starting jobs for a moment."),
    "JobLaunchFailure": _("It could not be started on its node, and is tried again."),
    "MaxRequeue": _("It was put back into the queue too often."),
    "JobHoldMaxRequeue": _("It was put back into the queue too often and is held now."),
    "launch failed requeued held": _("It could not be started on its node, and is held now."),
    "AccountingPolicy": _("A limit of accounting holds it back."),
    "BurstBufferResources": _("It waits for burst buffer space."),
    "BurstBufferOperation": _("A burst buffer could not be set up."),
    "BurstBufferStageIn": _("Its data is being staged in."),
    "PowerNotAvail": _("It waits for power."),
    "None": _("Slurm has not looked at it yet."),
    "": _("Slurm has not looked at it yet."),
}
_PREFIXES = (
    ("QOSMax", _("A limit of its QOS holds it back.")),
    ("QOSGrp", _("All jobs of its QOS together use as much as they may.")),
    ("QOSMin", _("It asks for less than its QOS wants at least.")),
    ("AssocMax", _("A limit of its Slurm account holds it back.")),
    ("AssocGrp", _("All jobs of its Slurm account together use as much as they may.")),
    ("Max", _("A limit of accounting holds it back.")),
    ("Nodes_required", _("A node that it needs is down, drained or reserved.")),
    ("ReqNodeNotAvail", WAITING["ReqNodeNotAvail"]),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence of how a job ended, and one of what to try."""

    what: Words
    advice: Words = ""


def why_waiting(reason: str) -> str:
    """The reason in a sentence; Slurm's own word where there is none for it."""
    if reason in WAITING:
        return str(WAITING[reason])
    for prefix, words in _PREFIXES:
        if reason.startswith(prefix):
            return str(words)
    return gettext("Slurm says: %(reason)s.") % {"reason": reason}


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
    if advice := _LAUNCH.get(job.reason):
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
