"""A job's output, in parts."""

from __future__ import annotations

import uuid
from typing import Any, get_args

import msgspec
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import outside
from jobs.api.jobs import JOBS
from jobs.models import JobState
from jobs.observer.pace import note_watched
from jobs.output_reader.protocol import LONGEST_TEXT, OutputChunk, State
from jobs.output_reader.text import whole_part
from jobs.services import actions
from jobs.services.output_search import checked, look
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


class FindQuery(serializers.Serializer[Any]):
    """What to look for, and from where."""

    text = serializers.CharField(
        max_length=LONGEST_TEXT, trim_whitespace=False, help_text="Plain text of one line; a and A are one."
    )
    stream = serializers.ChoiceField(choices=["stdout", "stderr"], default="stdout")
    offset = serializers.IntegerField(default=0, min_value=0, max_value=FARTHEST, help_text="First byte.")


class PlaceOut(serializers.Serializer[Any]):
    """A line that shows the text."""

    offset = serializers.IntegerField(help_text="Of the line's first byte: ask the output for it.")
    line = serializers.IntegerField(help_text="Ends of lines between your offset and this line.")
    text = serializers.CharField(help_text="A part of the line, without colours.")
    at = serializers.IntegerField(help_text="Where in `text` it stands, in characters.")
    length = serializers.IntegerField()


class FoundOut(serializers.Serializer[Any]):
    """What two seconds' work found: at most 50 lines."""

    state = serializers.ChoiceField(choices=STATES, help_text="As of the output.")
    places = PlaceOut(many=True)
    offset = serializers.IntegerField(
        help_text="Where this began. Where it is not what you asked for, the file became shorter."
    )
    next_offset = serializers.IntegerField(
        allow_null=True, help_text="Look on from here; null: the end of the file was reached."
    )
    lines = serializers.IntegerField(help_text="Ends of lines between offset and next_offset.")
    size = serializers.IntegerField(help_text="Of the file at that moment, in bytes.")


class FindApi(TenantApi):
    """/jobs/<id>/output/find/"""

    @operation("job_output_find", tag="jobs", answer=FoundOut, query=FindQuery, outside=True)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Lines of the output that show a text; for a long file ask again with next_offset."""
        row = get_visible(JOBS.all(), self.actor, pk)
        actions.require_output(self.actor, row)
        query = read_query(request, FindQuery)
        found = look(row, query["stream"], checked(query["text"], name="text"), query["offset"])
        facts = {
            "state": found.state,
            "places": [msgspec.structs.asdict(place) for place in found.places],
            "offset": found.offset,
            "next_offset": found.next_offset,
            "lines": found.found.lines if found.found else 0,
            "size": found.size,
        }
        return Response(FoundOut(facts).data)


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
