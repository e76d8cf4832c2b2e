"""A job's output: the tail as it grows, as a page of its own, and as a file."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import cast

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from jobs import outside
from jobs.models import Job
from jobs.observer.pace import note_watched
from jobs.output_reader.protocol import LONGEST_TEXT, OutputChunk, Stream
from jobs.services import actions
from jobs.web.finding import read_around, search_of
from jobs.web.job import ROWS
from jobs.web.pieces import read_piece, said_of
from jobs.web.tail import read_number, tail_address
from portal.lib.errors import WrongState
from tenants.scoping import get_visible
from tenants.web import TenantRequest, in_tenant

PARTS = {"offset": "added", "at": "view", "find": "found"}  # of the template, by what the address asks for


@require_safe
@in_tenant
def job_output(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """A page of its own; for htmx the pane, what was added behind `offset`, the places of a text, or one."""
    row = get_visible(ROWS.all(), request.actor, pk)
    actions.require_output(request.actor, row)
    note_watched([row.cluster_id])
    stream: Stream = "stderr" if request.GET.get("stream") == "stderr" else "stdout"
    asked = request.GET
    part = next((part for name, part in PARTS.items() if name in asked), "pane")
    context: dict[str, object] = {"job": row, "stream": stream, "find": asked.get("find", "")[:LONGEST_TEXT]}
    if part == "view":
        context["around"], context["piece"] = read_around(row, stream, read_number(asked["at"]) or 0)
    elif part == "found":
        begin, lines = (read_number(asked.get(name)) or 0 for name in ("from", "line"))
        context["search"] = search_of(row, stream, asked["find"], begin, lines)
    if part in {"pane", "added"} or (part == "found" and not request.htmx):
        offset, shown = read_number(asked.get("offset")), read_number(asked.get("shown")) or 0
        context["piece"] = read_piece(row, stream, offset, shown)
        context["tail"] = tail_address(request.actor, row, stream)
    return render(request, f"jobs/output.html#{part}" if request.htmx else "jobs/output.html", context)


@require_safe
@in_tenant
def job_output_file(request: TenantRequest, pk: uuid.UUID) -> HttpResponse:
    """The file as it is at this moment, from its beginning."""
    row = get_visible(ROWS.all(), request.actor, pk)
    actions.require_output(request.actor, row)
    stream: Stream = "stderr" if request.GET.get("stream") == "stderr" else "stdout"
    first = outside.read_output(row, stream, 0)
    if first.state != "ok":
        raise WrongState(said_of(first.state))
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
