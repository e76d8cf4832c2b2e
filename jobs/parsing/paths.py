"""Paths of files: as people type them, and with Slurm's patterns written out where the API does not."""

from __future__ import annotations

import posixpath
import re

from django.utils.translation import gettext as _

from clusters.clients.slurmrest.models import JobRecord
from jobs.parsing.names import parse_line
from jobs.parsing.refusal import Refusal

LONGEST_PATH = 1000

_PATTERN = re.compile(r"%(\d{0,2})([%A-Za-z])", re.ASCII)


def parse_any_path(text: str) -> str | None:
    """A path, absolute or below the working directory, or None for blank. Raises Refusal."""
    path = parse_line(text, longest=LONGEST_PATH)
    if path is not None and ".." in path.split("/"):
        raise Refusal(_("Write the path without .."))
    return path


def output_paths(record: JobRecord) -> tuple[str, str]:
    """Absolute paths of standard output and standard error; the second is "" where both are one file.

    Of an array's waiting rest the task is not known, so its %a stays as it is.
    """
    pattern = record.standard_output or ("slurm-%A_%a.out" if record.array_job_id else "slurm-%j.out")
    output = _expand(record, pattern)
    error = _expand(record, record.standard_error) if record.standard_error else ""
    return output, "" if error == output else error


def _expand(record: JobRecord, pattern: str) -> str:
    path = pattern
    if not record.paths_expanded:
        if "\\" in pattern:  # Slurm's way to say: take it as it is
            path = pattern.replace("\\", "")
        else:
            path = _PATTERN.sub(lambda match: _value(record, match), pattern)
    return posixpath.join(record.working_directory or "/", path)


def _value(record: JobRecord, match: re.Match[str]) -> str:
    width, letter = match[1], match[2]
    values: dict[str, str | int | None] = {
        "%": "%",
        "A": record.array_job_id or record.job_id,
        "a": record.array_task_id if record.array_job_id else 4294967294,
        "j": record.job_id,
        "J": record.job_id,
        "x": record.name,
        "u": record.user_name,
        "N": (record.batch_host or "").partition(".")[0] or None,
        "n": 0,
        "t": 0,
        "s": "batch",
    }
    value = values.get(letter)
    if value is None:
        return match[0]
    return str(value).rjust(int(width), "0") if width and isinstance(value, int) else str(value)
