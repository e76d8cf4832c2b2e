"""Slurm's words in plain ones: why a job waits, how it ended, and what to try."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from jobs.models import Job, JobState

# Reasons of waiting jobs as slurmctld names them (src/common/job_state_reason.c).
WAITING = {
    "Priority": "Other jobs come first. It starts when it is its turn.",
    "Resources": "It is its turn, and it waits for nodes to become free.",
    "Dependency": "It waits for another job to end.",
    "DependencyNeverSatisfied": "The job it depends on ended otherwise than asked for: it never starts.",
    "BeginTime": "It may not start before a set time.",
    "JobHeldUser": "It is held by its owner, or could not be started. Release it, or look at its script.",
    "JobHeldAdmin": "It is held by an administrator, who alone can release it.",
    "JobArrayTaskLimit": "As many tasks of the array run as are allowed at a time.",
    "PartitionDown": "The partition is closed.",
    "PartitionInactive": "The partition takes jobs but starts none.",
    "PartitionNodeLimit": "It asks for more nodes than the partition allows, or its nodes are down.",
    "PartitionTimeLimit": "It asks for more time than this partition allows: it will never start.",
    "NodeDown": "A node that it needs is down.",
    "ReqNodeNotAvail": "A node that it needs is down, drained or reserved.",
    "BadConstraints": "No node can ever give what it asks for: it will never start.",
    "Licenses": "It waits for licences.",
    "Reservation": "It waits for its reservation to begin.",
    "ReservationDeleted": "Its reservation was removed.",
    "InvalidAccount": "Its Slurm account is not valid.",
    "InvalidQOS": "Its QOS is not valid.",
    "QOSJobLimit": "Its QOS has as many jobs as it may.",
    "QOSResourceLimit": "Its QOS uses as much as it may.",
    "QOSTimeLimit": "Its QOS does not allow so much time.",
    "QOSUsageThreshold": "Its QOS has used up its share.",
    "AssociationJobLimit": "Its Slurm account has as many jobs as it may.",
    "AssociationResourceLimit": "Its Slurm account uses as much as it may.",
    "AssociationTimeLimit": "Its Slurm account may not use so much time.",
    "FrontEndDown": "No node can start it at the moment.",
    "Cleaning": "It was put back into the queue and cleans up first.",
    "Prolog": "The nodes are being prepared for it.",
    "SchedDefer": "Slurm puts off starting jobs for a moment.",
    "JobLaunchFailure": "It could not be started on its node, and is tried again.",
    "MaxRequeue": "It was put back into the queue too often.",
    "JobHoldMaxRequeue": "It was put back into the queue too often and is held now.",
    "launch failed requeued held": "It could not be started on its node, and is held now.",
    "AccountingPolicy": "A limit of accounting holds it back.",
    "BurstBufferResources": "It waits for burst buffer space.",
    "BurstBufferOperation": "A burst buffer could not be set up.",
    "BurstBufferStageIn": "Its data is being staged in.",
    "PowerNotAvail": "It waits for power.",
    "None": "Slurm has not looked at it yet.",
    "": "Slurm has not looked at it yet.",
}
_PREFIXES = (
    ("QOSMax", "A limit of its QOS holds it back."),
    ("QOSGrp", "All jobs of its QOS together use as much as they may."),
    ("QOSMin", "It asks for less than its QOS wants at least."),
    ("AssocMax", "A limit of its Slurm account holds it back."),
    ("AssocGrp", "All jobs of its Slurm account together use as much as they may."),
    ("Max", "A limit of accounting holds it back."),
    ("Nodes_required", "A node that it needs is down, drained or reserved."),
    ("ReqNodeNotAvail", WAITING["ReqNodeNotAvail"]),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence of how a job ended, and one of what to try."""

    what: str
    advice: str = ""


def why_waiting(reason: str) -> str:
    """The reason in a sentence; Slurm's own word where there is none for it."""
    if reason in WAITING:
        return WAITING[reason]
    for prefix, words in _PREFIXES:
        if reason.startswith(prefix):
            return words
    return f"Slurm says: {reason}."


_ENDED = {
    JobState.COMPLETED: Outcome("It ended with exit code 0."),
    JobState.CANCELLED: Outcome("It was cancelled.", "What it had written until then is still there."),
    JobState.TIMEOUT: Outcome(
        "It reached its time limit and was ended.",
        "Ask for more time, or save the state in between and go on from there in a new job.",
    ),
    JobState.OUT_OF_MEMORY: Outcome(
        "It used more memory than it had asked for and was ended, whatever its exit code says.",
        "Ask for more memory, or work on smaller pieces.",
    ),
    JobState.NODE_FAIL: Outcome(
        "A node on which it ran failed.",
        "It is not the script's fault. Submit it again; the node is not used now.",
    ),
    JobState.PREEMPTED: Outcome(
        "It had to make room for a job that goes before it.",
        "Submit it again. Save the state in between, so that little is lost.",
    ),
    JobState.BOOT_FAIL: Outcome(
        "Its nodes could not be started.", "Submit it again; if that recurs, tell the operator."
    ),
    JobState.DEADLINE: Outcome(
        "Its deadline came before it could end.", "Submit it earlier, with a later deadline or less time."
    ),
    JobState.ENDED: Outcome(
        "It left the queue while nobody could look, so how it ended is not known.",
        "Look at its output: what the script wrote last tells more than we can.",
    ),
}
_LAUNCH = {
    "JobLaunchFailure": "Look whether the working directory exists and the output file can be written.",
    "BadConstraints": "No node can give what it asked for. Ask for less.",
    "NonZeroExitCode": "",
}
_EXITS = {
    1: "Its last lines of output mostly name the cause.",
    2: "Often a wrong option or a misspelt command: look at the last lines of output.",
    126: "A file that should be run is not executable.",
    127: "A command was not found: look at PATH, modules and spelling.",
}


def outcome_of(job: Job) -> Outcome | None:
    """How a job ended; None while it has not."""
    if job.is_active:
        return None
    if job.state != JobState.FAILED:
        return _ENDED.get(JobState(job.state))
    if advice := _LAUNCH.get(job.reason):
        return Outcome(f"Slurm could not run it ({job.reason}).", advice)
    if job.exit_signal:
        return _by_signal(job.exit_signal)
    code = job.exit_status or 0
    if code > 128 and code - 128 in _SIGNALS:  # what a shell says of a command that a signal ended
        ended = _by_signal(code - 128)
        return Outcome(f"It ended with exit code {code}: a command in it {ended.what[3:]}", ended.advice)
    return Outcome(f"It ended with exit code {code}.", _EXITS.get(code, _EXITS[1]))


_SIGNALS = {number.value: number.name for number in signal.Signals}
_OF_SIGNAL = {
    signal.SIGKILL: "Mostly too little memory: ask for more, and look at the last lines of output.",
    signal.SIGSEGV: "A program used memory that is not its own: a fault in it or in one of its libraries.",
    signal.SIGBUS: "Mostly shared memory or disk that is full.",
    signal.SIGABRT: "A program gave up by itself: its last lines of output say why.",
    signal.SIGTERM: "Somebody or something asked it to end.",
    signal.SIGFPE: "A program divided by zero, or the like.",
    signal.SIGILL: "A program was made for another kind of CPU.",
}


def _by_signal(number: int) -> Outcome:
    name = _SIGNALS.get(number, f"signal {number}")
    advice = next((text for key, text in _OF_SIGNAL.items() if key.value == number), _EXITS[1])
    return Outcome(f"It was ended by {name}.", advice)
