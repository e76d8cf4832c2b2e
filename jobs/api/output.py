"""A job's output, in parts."""

from __future__ import annotations

import uuid
from typing import Any, get_args

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import outside
from jobs.api.jobs import JOBS
from jobs.models import JobState
from jobs.observer.pace import note_watched
from jobs.output_reader.protocol import OutputChunk, State
from jobs.output_reader.text import whole_part
from jobs.services import actions
from tenants.api.views import TenantApi, operation, read_query
from tenants.scoping import get_visible

STATES = [(state, state) for state in get_args(State)]
FARTHEST = 2**62 - 1


class OutputQuery(serializers.Serializer[Any]):
    """Which part."""

    stream = serializers.ChoiceField(choices=["stdout", "stderr"], default="stdout")
    offset = serializers.IntegerField(
        required=False, min_value=0, max_value=FARTHEST, help_text="First byte; without it the last 64 KiB."
    )


class OutputOut(serializers.Serializer[Any]):
    """At most 256 KiB of an output file as text."""

    state = serializers.ChoiceField(
        choices=STATES,
        help_text="missing: nothing was written (yet); same: stderr goes to the file of stdout; "
        "busy and failed: ask again.",
    )
    text = serializers.CharField(help_text="UTF-8; bytes that are not become U+FFFD.")
    offset = serializers.IntegerField(
        help_text="Of the text's first byte. Where it is not what you asked for, the file became shorter."
    )
    next_offset = serializers.IntegerField(help_text="Ask for this next.")
    size = serializers.IntegerField(help_text="Of the file at that moment, in bytes.")
    at_end = serializers.BooleanField(help_text="Nothing more was there.")
    job_ended = serializers.BooleanField(help_text="With at_end: there will be no more.")


class OutputApi(TenantApi):
    """/jobs/<id>/output/"""

    @operation("job_output", tag="jobs", answer=OutputOut, query=OutputQuery, outside=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """A part of the output: the tail, or what follows an offset."""
        row = get_visible(JOBS.all(), self.actor, pk)
        actions.require_output(self.actor, row)
        query = read_query(request, OutputQuery)
        note_watched([row.cluster_id])
        if row.state == JobState.PENDING:
            chunk = OutputChunk(state="missing")
        else:
            chunk = outside.read_output(row, query["stream"], query.get("offset"))
        is_over = chunk.is_at_end and not row.is_active
        data = chunk.data if is_over else whole_part(chunk.data)
        if chunk.data and not data:  # nothing but the beginning of one character: hand it out as it is
            data = chunk.data
        facts = {
            "state": chunk.state,
            "text": data.decode("utf-8", "replace"),
            "offset": chunk.offset,
            "next_offset": chunk.offset + len(data),
            "size": chunk.size,
            "at_end": chunk.is_at_end,
            "job_ended": not row.is_active,
        }
        return Response(OutputOut(facts).data)
