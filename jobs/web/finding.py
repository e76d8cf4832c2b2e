"""A text looked for in a job's output: the places found so far, and the output around one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext, ngettext

from jobs import outside
from jobs.models import Job
from jobs.output_reader.protocol import OutputFound, Stream
from jobs.output_reader.protocol import Place as Found
from jobs.output_reader.text import to_text, whole_part
from jobs.services.output_search import checked, look
from jobs.web.pieces import Piece, said_of, size_text
from portal.lib.errors import BadInput, OutsideError

BEFORE, BEHIND = 16 * 1024, 48 * 1024  # bytes shown around a place


@dataclass(frozen=True, slots=True)
class Line:
    """A line that shows the text."""

    number: int  # 1 is the first of the file
    where: str
    before: str
    match: str
    after: str
    query: str  # the address of its place


@dataclass(frozen=True, slots=True)
class Search:
    """What one look found."""

    text: str
    said: str = ""
    lines: tuple[Line, ...] = ()
    next: str = ""  # the query that looks on; "" at the end of the file
    first: str = ""  # the query that begins again; "" where this one did


@dataclass(frozen=True, slots=True)
class Around:
    """The output around a place."""

    before: str
    line: str
    after: str


def search_of(row: Job, stream: Stream, text: str, offset: int, lines: int) -> Search:
    """What the page shows of a look from an offset on, before which there are so many ends of lines."""
    try:
        found = look(row, stream, checked(text), offset)
    except BadInput as error:
        return Search(text, error.fields["find"])
    except OutsideError as error:
        return Search(text, str(error.message))
    if found.state != "ok" or found.found is None:
        return Search(text, said_of(found.state))
    lines = lines if found.offset == offset else 0  # it became shorter: it begins again
    here = {"stream": stream, "find": text}
    on = found.next_offset
    return Search(
        text,
        _said(found),
        tuple(_line(one, lines, here) for one in found.places),
        urlencode({**here, "from": on, "line": lines + found.found.lines}) if on is not None else "",
        urlencode(here) if found.offset else "",
    )


def read_around(row: Job, stream: Stream, offset: int) -> tuple[Around | None, Piece]:
    """The part of the file in which a place stands; the pane does not follow from there."""
    start = max(0, offset - BEFORE)
    try:
        chunk = outside.read_output(row, stream, start)
    except OutsideError as error:
        return None, Piece(said=str(error.message))
    if chunk.state != "ok":
        return None, Piece(said=said_of(chunk.state))
    if chunk.offset != start or offset >= chunk.size:
        return None, Piece(said=gettext("The file has become shorter since then."))
    data = chunk.data[: offset - start + BEHIND]
    before, rest = data[: offset - start], data[offset - start :]
    if chunk.offset + len(data) < chunk.size:
        rest = whole_part(rest)
    line, newline, after = rest.partition(b"\n")
    around = Around(to_text(before, is_cut=start > 0), to_text(line), to_text(newline + after))
    told = (
        gettext("%(shown)s from %(since)s on, of %(size)s")
        if start
        else gettext("First %(shown)s of %(size)s")
    )
    note = told % {
        "shown": size_text(len(data)),
        "since": size_text(start),
        "size": size_text(chunk.size),
    }
    return around, Piece(note=note)


def _line(found: Found, lines: int, here: Mapping[str, str]) -> Line:
    end = found.at + found.length
    return Line(
        number=lines + found.line + 1,
        where=size_text(found.offset),
        before=found.text[: found.at],
        match=found.text[found.at : end],
        after=found.text[end:],
        query=urlencode({**here, "at": found.offset}),
    )


def _said(found: OutputFound) -> str:
    count, on = len(found.places), found.next_offset
    sizes = {
        "count": count,
        "since": size_text(found.offset),
        "until": size_text(found.size if on is None else on),
        "size": size_text(found.size),
    }
    if on is None and not found.offset:
        told = ngettext("%(count)d line in %(size)s.", "%(count)d lines in %(size)s.", count)
        return told % sizes if count else gettext("Not found in %(size)s.") % sizes
    if not count:
        return gettext("Not found between %(since)s and %(until)s of %(size)s.") % sizes
    told = ngettext(
        "%(count)d line between %(since)s and %(until)s of %(size)s.",
        "%(count)d lines between %(since)s and %(until)s of %(size)s.",
        count,
    )
    return told % sizes
