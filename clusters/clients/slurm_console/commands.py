"""The fixed list of commands, each as an argument list."""

from __future__ import annotations

from typing import Final

from clusters.clients.slurm_console.console import check_job
from clusters.clients.slurm_console.lines import format_with

PART: Final = 64 * 1024  # bytes read at once
MOST_QUEUE: Final = 256 * 1024 * 1024  # bytes; a million jobs
ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "SLURM_TIME_FORMAT": "%s",
    "SLURM_BITSTR_LEN": "0",  # the tasks of an array are never cut
}
TOO_LONG: Final = "Slurm's queue is longer than the portal reads."


def queue(mark: str) -> list[str]:
    """Every job record, its fields between marks."""
    command = ["squeue", "--all", "--local", "--noheader", "--states=all"]
    return [*command, f"--format={format_with(mark)}"]


def change(verb: str, job: str) -> list[str]:
    """requeue, suspend, resume or top of one job, task or part. Raises ValueError for anything else."""
    return ["scontrol", verb, check_job(job)]
