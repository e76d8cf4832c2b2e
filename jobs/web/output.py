"""A job's output: the tail as it grows, as a page of its own, and as a file."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import cast

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs import outside
from jobs.models import Job, JobState
from jobs.observer.pace import note_watched
from jobs.output_reader.protocol import OutputChunk, Stream
from jobs.output_reader.text import to_text, whole_part
from jobs.services import actions
from jobs.web.job import ROWS
from portal.lib.errors import OutsideError, WrongState
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

LONGEST_LAST_LINE = 4096  # bytes; a longer one without its end is shown as it is
MOST_SHOWN = 2 * 1024 * 1024  # bytes in the page; then it begins again with the tail
SAID = {
    "missing": "Not there yet: the job has written nothing.",
    "same": "Same as output: both go to one file.",
    "refused": "This file is not shown: it is a link, or it does not belong to the job's account.",
    "not_regular": "This is not a regular file, so there is nothing to show.",
    "unknown": "There is no output to read: the job's account is not one of this cluster's members.",
    "busy": "The output is being read by too many at the moment. It is tried again.",
    "failed": "The output could not be read at the moment. It is tried again.",
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


@require_safe
@in_tenant
def job_output(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """A page of its own; for htmx the pane, or what was added behind `offset`."""
    row = get_visible(ROWS.all(), request.actor, pk)
    actions.require_output(request.actor, row)
    note_watched([row.cluster_id])
    stream: Stream = "stderr" if request.GET.get("stream") == "stderr" else "stdout"
    offset, shown = _number(request.GET.get("offset")), _number(request.GET.get("shown")) or 0
    piece = _read(row, stream, offset, shown)
    context = {"job": row, "stream": stream, "piece": piece}
    if not request.htmx:
        return render(request, "jobs/output.html", context)
    return render(request, f"jobs/output.html#{'added' if 'offset' in request.GET else 'pane'}", context)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _read(row: Job, stream: Stream, offset: int | None, shown: int) -> Piece:
    if row.state == JobState.PENDING:
        return Piece(said="The job has not started. Its output appears here.", more="every 3s")
    again = "every 2s" if row.is_active else ""
    if shown > MOST_SHOWN:
        offset, shown = None, 0
    try:
        chunk = outside.read_output(row, stream, offset)
    except OutsideError as error:
        return Piece(said=error.message, more="every 5s", offset=offset, shown=shown, replace=offset is None)
    if chunk.state != "ok":
        return _without_text(row, chunk, again)
    return _with_text(chunk, offset, shown, again)


def _without_text(row: Job, chunk: OutputChunk, again: str) -> Piece:
    said = SAID.get(chunk.state, SAID["failed"])
    if chunk.state == "missing" and not row.is_active:
        said = "There is no such file: the job wrote nothing, or it was removed."
    if chunk.state in {"busy", "failed"}:
        again = "every 3s"
    return Piece(said=said, more=again)


def _with_text(chunk: OutputChunk, offset: int | None, shown: int, again: str) -> Piece:
    is_over = chunk.is_at_end and not again
    data = chunk.data if is_over else whole_part(chunk.data)
    cut = data.rfind(b"\n") + 1
    last = b"" if is_over or len(data) - cut > LONGEST_LAST_LINE else data[cut:]
    whole = data[: len(data) - len(last)]
    replace = offset is None or chunk.offset != offset
    note = (
        f"Last {len(data) // 1024} KiB of {_size(chunk.size)}"
        if replace and chunk.offset
        else _size(chunk.size)
    )
    return Piece(
        lines=to_text(whole, is_cut=replace and chunk.offset > 0),
        last=to_text(last),
        said="" if chunk.size else "Nothing written yet." if again else "The file is empty.",
        offset=chunk.offset + len(whole),
        shown=(0 if replace else shown) + len(whole),
        replace=replace,
        more=again if chunk.is_at_end else "load delay:200ms",
        note=note,
    )


def _size(size: int) -> str:
    for factor, unit in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"


@require_safe
@in_tenant
def job_output_file(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The file as it is at this moment, from its beginning."""
    row = get_visible(ROWS.all(), request.actor, pk)
    actions.require_output(request.actor, row)
    stream: Stream = "stderr" if request.GET.get("stream") == "stderr" else "stdout"
    first = outside.read_output(row, stream, 0)
    if first.state != "ok":
        raise WrongState(SAID.get(first.state, SAID["failed"]))
    parts = _parts(row, stream, first)
    content = _async(parts) if isinstance(request, ASGIRequest) else parts
    response = StreamingHttpResponse(content, content_type="text/plain; charset=utf-8")
    name = f"job-{row.slurm_job_id}.{'err' if stream == 'stderr' else 'out'}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return cast(HttpResponse, response)  # streams, but is a response like any other


def _parts(row: Job, stream: Stream, first: OutputChunk) -> Iterator[bytes]:
    """Up to the size that the file had at first, so that one that grows has an end."""
    chunk, end = first, first.size
    while chunk.state == "ok" and chunk.data:
        yield chunk.data[: max(0, end - chunk.offset)]
        if chunk.next_offset >= end:
            return
        offset = chunk.next_offset
        chunk = outside.read_output(row, stream, offset)
        if chunk.offset != offset:
            return


async def _async(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    step = sync_to_async(lambda: next(parts, None), thread_sensitive=False)
    while (part := await step()) is not None:
        yield part
