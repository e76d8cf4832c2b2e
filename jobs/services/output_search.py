"""Looks for a text in a job's output; who may read the output may look."""

from __future__ import annotations

from django.utils.translation import gettext as _

from jobs import outside
from jobs.models import Job, JobState
from jobs.output_reader.protocol import LONGEST_TEXT, OutputFound, Stream
from portal.lib.errors import BadInput


def checked(text: str, *, name: str = "find") -> str:
    """A text that can be looked for. Raises BadInput of the field of this name."""
    if not text.strip() or len(text) > LONGEST_TEXT or not text.isprintable():
        told = _("Look for 1 to %(most)d characters that stand in one line.")
        raise BadInput(fields={name: told % {"most": LONGEST_TEXT}})
    return text


def look(row: Job, stream: Stream, text: str, offset: int) -> OutputFound:
    """Where it stands, from an offset on. Raises OutsideError."""
    if row.state == JobState.PENDING:
        return OutputFound(state="missing")
    return outside.find_output(row, stream, text, offset)
