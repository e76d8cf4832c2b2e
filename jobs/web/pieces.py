"""What one read of a job's output adds to the page, for the poll and for the socket of the tail."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy, ngettext

from jobs import outside
from jobs.models import Job, JobState
from jobs.output_reader.protocol import OutputChunk, Stream
from jobs.output_reader.text import to_text, whole_part
from jobs.parsing.numbers import short
from portal.lib.errors import OutsideError

LONGEST_LAST_LINE = 4096  # bytes; a longer one without its end is shown as it is
MOST_SHOWN = 2 * 1024 * 1024  # bytes in the page; then it begins again with the tail
BEHIND = "load delay:200ms"  # there is more to read already
WAITING, AGAIN, LATER = "every 3s, again", "every 2s, again", "every 5s, again"
SAID = {
    "missing": gettext_lazy("Not there yet: the job has written nothing."),
    "same": gettext_lazy("Same as output: both go to one file."),
    "refused": gettext_lazy(
        "This file is not shown: it is a link, or it does not belong to the job's account."
    ),
    "not_regular": gettext_lazy("This is not a regular file, so there is nothing to show."),
    "unknown": gettext_lazy(
        "There is no output to read: the job's account is not one of this cluster's members."
    ),
    "busy": gettext_lazy("The output is being read by too many at the moment. It is tried again."),
    "failed": gettext_lazy("The output could not be read at the moment. It is tried again."),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """What one read adds to the page."""

    lines: str = ""  # whole lines, to be added
    last: str = ""  # the line that is still being written: shown, and read again next time
    said: str = ""  # instead of text
    offset: int | None = None  # where to go on; None: the tail
    shown: int = 0  # bytes in the page
    replace: bool = True  # the page begins again
    more: str = ""  # the trigger of the next read; "" is never
    note: str = ""


def read_piece(row: Job, stream: Stream, offset: int | None, shown: int, *, most: int | None = None) -> Piece:
    """One read of the file from `offset` on, or of its tail; of at most `most` bytes."""
    if row.state == JobState.PENDING:
        return Piece(said=gettext("The job has not started. Its output appears here."), more=WAITING)
    again = AGAIN if row.is_active else ""
    if shown > MOST_SHOWN:
        offset, shown = None, 0
    try:
        chunk = outside.read_output(row, stream, offset)
    except OutsideError as error:
        return Piece(said=str(error.message), more=LATER, offset=offset, shown=shown, replace=offset is None)
    if chunk.state != "ok":
        return _without_text(row, chunk, again)
    if most is not None and len(chunk.data) > most:
        chunk = OutputChunk(state="ok", size=chunk.size, offset=chunk.offset, data=chunk.data[:most])
    return _with_text(chunk, offset, shown, again)


def said_of(state: str) -> str:
    """Why there is no text."""
    return str(SAID.get(state, SAID["failed"]))


def _without_text(row: Job, chunk: OutputChunk, again: str) -> Piece:
    said = said_of(chunk.state)
    if chunk.state == "missing" and not row.is_active:
        said = gettext("There is no such file: the job wrote nothing, or it was removed.")
    if chunk.state in {"busy", "failed"}:
        again = WAITING
    return Piece(said=said, more=again)


def _with_text(chunk: OutputChunk, offset: int | None, shown: int, again: str) -> Piece:
    is_over = chunk.is_at_end and not again
    data = chunk.data if is_over else whole_part(chunk.data)
    whole, last = (data, data[:0]) if is_over else _split(data)
    replace = offset is None or chunk.offset != offset
    cut = size_text(chunk.size)
    if replace and chunk.offset:
        cut = gettext("Last %(shown)s of %(size)s") % {"shown": f"{len(data) // 1024} KiB", "size": cut}
    nothing = gettext("Nothing written yet.") if again else gettext("The file is empty.")
    return Piece(
        lines=to_text(whole, is_cut=replace and chunk.offset > 0),
        last=to_text(last),
        said="" if chunk.size else nothing,
        offset=chunk.offset + len(data) - len(last),
        shown=(0 if replace else shown) + len(whole),
        replace=replace,
        more=again if chunk.is_at_end else BEHIND,
        note=cut,
    )


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and the one that is still being written.

    Of a long one that was written over, as progress bars are, only the last state stays.
    """
    cut = data.rfind(b"\n") + 1
    whole, last = data[:cut], data[cut:]
    if len(last) > LONGEST_LAST_LINE:
        last = last[last.rstrip(b"\r").rfind(b"\r") + 1 :]
    return (data, b"") if len(last) > LONGEST_LAST_LINE else (whole, last)


def size_text(size: int) -> str:
    """1.2 GiB; 7 bytes."""
    for factor, unit in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= factor:
            return f"{short(size / factor)} {unit}"
    return ngettext("%(count)d byte", "%(count)d bytes", size) % {"count": size}
