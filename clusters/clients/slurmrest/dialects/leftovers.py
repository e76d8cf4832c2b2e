"""Paths that slurmrestd expanded only in part: before v0.0.43 it leaves %J, %s, %t, %n and %N to slurmd."""

from __future__ import annotations

import re
from typing import Final

from clusters.clients.slurmrest.dialects.records import JobFields

NO_TASK: Final = "4294967294"  # stands for %a in the path of an array's waiting rest
_LEFT: Final = re.compile(r"%(\d{0,2})([JstnN])", re.ASCII)


def finish_paths(job: JobFields) -> tuple[str, str] | None:
    """Paths of output and error, the second "" where it is the first; None while they are not known."""
    output = job.standard_output
    if not output or NO_TASK in output:
        return None
    return _finish(job, output), _finish(job, job.standard_error or "")


def _finish(job: JobFields, path: str) -> str:
    known = {
        "J": str(job.job_id),
        "s": "batch",
        "t": "0",
        "n": "0",
        "N": (job.batch_host or "").partition(".")[0],
    }

    def fill(match: re.Match[str]) -> str:
        width, value = match[1], known[match[2]]
        return (value.rjust(int(width or 0), "0") if value.isdecimal() else value) or match[0]

    return _LEFT.sub(fill, path)
