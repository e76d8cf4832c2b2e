"""Why a job waits: a sentence and an advice for each of Slurm's reasons, 22.05 to 26.05."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from portal.lib.types import Words


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence of what is so, and one of what to try."""

    what: Words
    advice: Words = ""


_BY_ITSELF = _("There is nothing to do: it starts by itself.")
_LESS = _("It will not start as it is. Cancel it and submit it again with less.")
_ADMIN = _("Ask an admin of your tenant, who can change this in the cluster.")
_OPERATOR = _("If this lasts for more than a few minutes, tell the operator.")
_HELD = _("Release it once the cause is gone, or cancel it.")
_LOOK = _("Look at its script, its working directory and its events, then release it or submit it again.")
_OTHER = _("Choose another one, or leave it empty for the default.")

# By the words of src/common/job_state_reason.c; limits are composed below.
_REASONS = {
    "": Outcome(_("Slurm has not looked at it yet."), _BY_ITSELF),
    "Priority": Outcome(
        _("Other jobs come first. It starts when it is its turn."),
        _("A shorter time limit lets Slurm fit it into gaps sooner."),
    ),
    "Resources": Outcome(
        _("It is its turn, and it waits for nodes to become free."),
        _("It starts when running jobs end. Fewer nodes or GPUs may be free at once."),
    ),
    "Dependency": Outcome(
        _("It waits for another job to end."),
        _("Look at the job that it depends on: this one goes on after it."),
    ),
    "DependencyNeverSatisfied": Outcome(
        _("The job it depends on ended otherwise than asked for: it never starts."),
        _("Cancel it, see why the other one failed, and submit both again."),
    ),
    "BeginTime": Outcome(
        _("It may not start before a set time."),
        _("That is its own begin time, or Slurm's pause of two minutes after it was requeued."),
    ),
    "JobHeldUser": Outcome(
        _("It is held by its owner, or could not be started. Release it, or look at its script."), _HELD
    ),
    "JobHeldAdmin": Outcome(
        _("It is held by an administrator, who alone can release it."),
        _("Ask an admin of your tenant why, and to release it."),
    ),
    "JobHoldMaxRequeue": Outcome(_("It was put back into the queue too often and is held now."), _LOOK),
    "MaxRequeue": Outcome(_("It was put back into the queue too often."), _LOOK),
    "JobArrayTaskLimit": Outcome(
        _("As many tasks of the array run as are allowed at a time."),
        _("The next one starts when one ends. The number stands after the percent sign of the array."),
    ),
    "PartitionDown": Outcome(_("The partition is closed."), _ADMIN),
    "PartitionInactive": Outcome(_("The partition takes jobs but starts none."), _ADMIN),
    "PartitionNodeLimit": Outcome(
        _("It asks for more nodes than the partition allows, or its nodes are down."),
        _("Look at the partition's page, then ask for fewer nodes or choose another partition."),
    ),
    "PartitionTimeLimit": Outcome(
        _("It asks for more time than this partition allows: it will never start."),
        _("Ask for less time, or choose another partition."),
    ),
    "PartitionConfig": Outcome(
        _("The partition is not set up for a job like this."),
        _("Look at the partition's page for what it allows, or choose another one."),
    ),
    "NodeDown": Outcome(
        _("A node that it needs is down."), _("Let Slurm choose other nodes, or wait until it is repaired.")
    ),
    "ReqNodeNotAvail": Outcome(
        _("A node that it needs is down, drained or reserved."),
        _("Look at the nodes' page for the reason, or do not name nodes so that Slurm may choose others."),
    ),
    "BadConstraints": Outcome(
        _("No node can ever give what it asks for: it will never start."),
        _("Ask for fewer GPUs, CPUs or less memory a node, or for another GPU type."),
    ),
    "Constraints": Outcome(
        _("No free node has the features that it asks for."),
        _("It starts when such a node is free. Fewer constraints let it start on more nodes."),
    ),
    "Licenses": Outcome(_("It waits for licences."), _("It starts when jobs that hold them end.")),
    "Reservation": Outcome(_("It waits for its reservation to begin."), _BY_ITSELF),
    "ReservationDeleted": Outcome(
        _("Its reservation was removed."), _("Submit it again without the reservation, or with another.")
    ),
    "ReservationInvalid": Outcome(
        _("Its reservation cannot be used by it."),
        _("Submit it again without the reservation, or ask an admin to let you into it."),
    ),
    "InvalidAccount": Outcome(_("Its Slurm account is not valid."), _OTHER),
    "AccountNotAllowed": Outcome(_("Its Slurm account may not use this partition."), _OTHER),
    "InvalidQOS": Outcome(_("Its QOS is not valid."), _OTHER),
    "QOSNotAllowed": Outcome(_("Its QOS may not be used in this partition or by this account."), _OTHER),
    "QOSJobLimit": Outcome(_("Its QOS has as many jobs as it may."), _BY_ITSELF),
    "QOSResourceLimit": Outcome(_("Its QOS uses as much as it may."), _BY_ITSELF),
    "QOSTimeLimit": Outcome(_("Its QOS does not allow so much time."), _LESS),
    "QOSUsageThreshold": Outcome(
        _("Its QOS has used up its share."),
        _("It starts when others have used more. Another QOS may start sooner."),
    ),
    "AssociationJobLimit": Outcome(_("Its Slurm account has as many jobs as it may."), _BY_ITSELF),
    "AssociationResourceLimit": Outcome(_("Its Slurm account uses as much as it may."), _BY_ITSELF),
    "AssociationTimeLimit": Outcome(_("Its Slurm account may not use so much time."), _LESS),
    "AccountingPolicy": Outcome(_("A limit of accounting holds it back."), _ADMIN),
    "FrontEndDown": Outcome(_("No node can start it at the moment."), _OPERATOR),
    "Cleaning": Outcome(_("It was put back into the queue and cleans up first."), _BY_ITSELF),
    "Prolog": Outcome(_("The nodes are being prepared for it."), _BY_ITSELF),
    "SchedDefer": Outcome(_("Slurm puts off starting jobs for a moment."), _BY_ITSELF),
    "JobLaunchFailure": Outcome(
        _("It could not be started on its node, and is tried again."),
        _("Look whether the working directory exists and the output file can be written."),
    ),
    "launch failed requeued held": Outcome(_("It could not be started on its node, and is held now."), _LOOK),
    "BurstBufferResources": Outcome(_("It waits for burst buffer space."), _BY_ITSELF),
    "BurstBufferOperation": Outcome(
        _("A burst buffer could not be set up."), _("Look at its #BB or #DW lines, or tell the operator.")
    ),
    "BurstBufferStageIn": Outcome(_("Its data is being staged in."), _BY_ITSELF),
    "PowerNotAvail": Outcome(_("It waits for power."), _BY_ITSELF),
    "PowerReserved": Outcome(_("The power that is left is reserved for other jobs."), _BY_ITSELF),
    "MaxPoweredUpNodes": Outcome(
        _("As many nodes are switched on as are allowed."), _("It starts when nodes that are on become free.")
    ),
    "MpiPortsBusy": Outcome(
        _("The network ports that its MPI needs are taken by other jobs on its nodes."), _BY_ITSELF
    ),
    "NvidiaImexChannels": Outcome(
        _("All NVIDIA IMEX channels, by which GPUs of several nodes share memory, are in use."), _BY_ITSELF
    ),
    "FedJobLock": Outcome(
        _("Another cluster of the federation decides at this moment whether it starts there."), _BY_ITSELF
    ),
    "MaxMemPerLimit": Outcome(_("It asks for more memory a node or a CPU than is allowed."), _LESS),
    "BlockMaxError": Outcome(_("The block of nodes that it was to use had too many errors."), _OPERATOR),
    "BlockFreeAction": Outcome(_("The block of nodes that it was to use is being freed."), _BY_ITSELF),
    # words of how a run ended stay as the reason while a job that was put back waits again
    "SystemFailure": Outcome(_("Slurm itself failed while it handled the job."), _OPERATOR),
    "NonZeroExitCode": Outcome(_("Its last run ended with an exit code other than 0."), _LOOK),
    "RaisedSignal": Outcome(_("Its last run was ended by a signal."), _LOOK),
    "TimeLimit": Outcome(
        _("Its last run reached its time limit."), _("Ask for more time, or save the state in between.")
    ),
    "InactiveLimit": Outcome(
        _("It was idle for longer than Slurm allows."), _("Start the work at once, in a batch script.")
    ),
    "OutOfMemory": Outcome(
        _("Its last run used more memory than it had asked for."),
        _("Ask for more memory, or work on smaller pieces."),
    ),
    "DeadLine": Outcome(
        _("It cannot end before its deadline any more."),
        _("Submit it again with a later deadline or a shorter time limit."),
    ),
}
_REASONS["None"] = _REASONS[""]
# Where Slurm gives a sentence of its own instead of a word, by how it begins.
_BEGINS = (
    ("ReqNodeNotAvail", _REASONS["ReqNodeNotAvail"]),
    ("Nodes required", _REASONS["ReqNodeNotAvail"]),
    ("RaisedSignal", _REASONS["RaisedSignal"]),
    ("launch fail", _REASONS["launch failed requeued held"]),
    ("job requeued in", Outcome(_("It was put back into the queue, and is held now."), _HELD)),
    (
        "user env retrieval failed",
        Outcome(_("Its user's environment could not be read, and it is held now."), _HELD),
    ),
    ("Reservation ", Outcome(_("The reservation under which it ran is over, invalid or removed."), _OTHER)),
    ("Burst buffer", _REASONS["BurstBufferOperation"]),
    ("Job is at or exceeds", _REASONS["AccountingPolicy"]),
    ("uid ", Outcome(_("Its user's group may not use this partition."), _("Choose another partition."))),
)

_LIMIT = re.compile(
    r"(?P<of>QOS|Assoc)?(?P<kind>Grp|Max|Min)"
    r"(?P<what>BB|Billing|Cpu|CPU|Energy|GRES|Jobs|License|Memory|Mem|Node|SubmitJobs?|Unknown|Wall(?:Duration)?)"
    r"(?P<time>Run(?:Minutes|Mins)|Minutes)?(?P<per>PerJob|PerNode|PerUser|PerAccount)?(?:Limit|NotSatisfied)?"
)
_WHAT = {
    "BB": _("burst buffer space"),
    "Billing": _("billing units"),
    "CPU": _("CPUs"),
    "Energy": _("energy"),
    "GRES": _("GPUs and other generic resources"),
    "Jobs": _("running jobs"),
    "License": _("licences"),
    "Mem": _("memory"),
    "Node": _("nodes"),
    "Submit": _("submitted jobs"),
    "Unknown": _("a resource that Slurm does not name"),
    "Wall": _("time"),
}
_WHOLE_QOS = _("All jobs of its QOS together have reached the limit for %(what)s.")
_WHOLE_ACCOUNT = _("All jobs of its Slurm account together have reached the limit for %(what)s.")
_PERSON = _("Its submitter's jobs together have reached the limit for %(what)s.")
_TOO_MUCH = {
    "PerJob": _("It asks for more than one job may have: the limit for %(what)s."),
    "PerNode": _("It asks for more on one node than a job may have: the limit for %(what)s."),
}
_TOO_LITTLE = _("It asks for less than its QOS wants at least: the limit for %(what)s.")
_WHEN_OTHERS_END = _("It starts when running jobs under the same limit end. An admin can raise the limit.")
_BUDGET = _(
    "What may be used is used up: it starts when old use no longer counts, or an admin raises the limit."
)
_PROMISED = _(
    "Running jobs count with all the time they may still take: it starts when they come nearer to their end."
    " A shorter time limit helps."
)


def reason_of(reason: str) -> Outcome:
    """Why a job waits and what to try; Slurm's own word where there is no sentence for it."""
    if known := _REASONS.get(reason):
        return known
    if match := _LIMIT.fullmatch(reason):
        return _limit(match)
    spoken = reason.replace("_", " ")  # 22.05 writes its sentences with underscores
    for begin, told in _BEGINS:
        if spoken.startswith(begin):
            return told
    return Outcome(gettext("Slurm says: %(reason)s.") % {"reason": reason})


def _limit(match: re.Match[str]) -> Outcome:
    """Of a limit of accounting: whose, of what, and whether it passes by itself."""
    what = (
        gettext("%(what)s, by the minute") % {"what": _noun(match["what"])}
        if match["time"]
        else _noun(match["what"])
    )
    if match["kind"] == "Min":
        return Outcome(_TOO_LITTLE % {"what": what}, _("Ask for more, or choose another QOS."))
    if match["kind"] == "Grp" or match["per"] == "PerAccount":
        whole = _WHOLE_QOS if match["of"] == "QOS" else _WHOLE_ACCOUNT
        return Outcome(whole % {"what": what}, _of_time(match["time"], match["what"]))
    if match["per"] == "PerUser" or match["what"] in {"Jobs", "SubmitJob", "SubmitJobs"}:
        return Outcome(_PERSON % {"what": what}, _of_time(match["time"], match["what"]))
    return Outcome(_TOO_MUCH[match["per"] or "PerJob"] % {"what": what}, _LESS)


def _noun(word: str) -> str:
    short = {
        "Cpu": "CPU",
        "Memory": "Mem",
        "WallDuration": "Wall",
        "SubmitJob": "Submit",
        "SubmitJobs": "Submit",
    }
    return str(_WHAT[short.get(word, word)])


def _of_time(time: str | None, what: str) -> Words:
    """What to do about a limit that many jobs share."""
    if time is None:
        return _BUDGET if what == "Wall" else _WHEN_OTHERS_END
    return _PROMISED if time.startswith("Run") else _BUDGET
