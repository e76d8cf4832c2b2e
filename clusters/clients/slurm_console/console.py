"""The second narrow door to a Slurm cluster: a fixed list of commands, argument lists and never a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from clusters.clients.slurm_console.lines import Line
from clusters.clients.slurmrest import errors
from portal.lib.errors import OutsideError, PermanentError

JOB: Final = re.compile(r"\d{1,10}(_\d{1,9}|\+\d{1,4})?", re.ASCII)
LONGEST_WORDS: Final = 16 * 1024  # bytes that are kept of what a command says


class SlurmConsole(Protocol):
    """Acts and looks as one account of one cluster. Every command has a deadline.

    A job is "12", the array task "12_3" or the part "12+1" of a set; ValueError for anything else. Raises
    the errors of clusters.clients.slurmrest.errors: NotReachable, TokenRefused, SlurmRefused and its kinds
    UnknownJob and NotPermitted, and Unclear when a change was asked for and no answer came in time.
    Unreadable is such a case: look
    at the job. NoTools where the programs are missing. Nothing that changes something is asked for twice.
    """

    def requeue(self, job: str) -> None:
        """Back into the queue: a job that runs ends and starts again. Its owner may."""

    def suspend(self, job: str) -> None:
        """Stop it where it is; its memory stays taken. Only a Slurm operator or administrator may."""

    def resume(self, job: str) -> None:
        """Let a suspended job go on. Only a Slurm operator or administrator may."""

    def top(self, job: str) -> None:
        """Before the owner's other jobs of the partition and priority; where the cluster allows it."""

    def queue(self) -> Iterator[Line]:
        """Every job record of the controller, also of what ended a while ago; lines.parse reads a line.

        An error may come in the middle: only what was iterated to its end is whole.
        """


class NoTools(PermanentError):
    """Slurm's client programs are not where the console looks for them."""

    def __init__(self) -> None:
        super().__init__(
            "NoSlurmTools",
            "Slurm's client programs are not installed where the portal runs.",
            hint="Install Debian's package slurm-client.",
        )


class Unreadable(errors.Unclear):
    """Slurm answered yes or no, and this release's answer cannot be read: look at the job."""

    def __init__(self) -> None:
        super().__init__("unreadable")


def check_job(job: str) -> str:
    """The id itself. Raises ValueError for anything that is not the id of one job, task or part."""
    if not isinstance(job, str) or JOB.fullmatch(job) is None:
        raise ValueError("A job is named by its number, as number_task or as number+part.")
    return job


_KINDS: Final = (
    (("invalid job id", "job_id is invalid"), "unknown"),
    (("access/permission denied", "invalid user id", "access denied"), "not permitted"),
    (("unable to contact slurm controller", "connection refused", "connect failure"), "silent"),
    # without a word of why: no answer in time, a connection that was cut, a token that is not believed
    (("timed out", "zero bytes were transmitted", "unexpected message received"), "unclear"),
    (("protocol authentication error", "invalid authentication credential"), "token"),
)
# Slurm 22.05 signs its answer to suspend, resume and top in a way that a client with a token cannot read
_UNREADABLE: Final = "response_slurm_rc has authentication error"


def error_of(words: str) -> OutsideError:
    """What a command without success means, by Slurm's own words on its error stream."""
    text = errors.clean(re.sub(r"(?m)^\w+: (error: )?", "", words), 300)
    plain = text.lower()
    if _UNREADABLE in plain:
        return Unreadable()
    kind = next((kind for signs, kind in _KINDS if any(sign in plain for sign in signs)), "")
    made: dict[str, OutsideError] = {
        "unknown": errors.UnknownJob(errors.JOB_UNKNOWN, text),
        "not permitted": errors.NotPermitted(None, text),
        "silent": errors.NotReachable("The cluster's slurmctld does not answer."),
        "unclear": errors.Unclear(text),
        "token": errors.TokenRefused(),
    }
    return made.get(kind) or errors.SlurmRefused(None, text)
