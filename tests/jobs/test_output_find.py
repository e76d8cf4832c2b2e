"""A text looked for in an output: what counts as found, how far one look goes, the page and the API."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from clusters.models import Cluster
from jobs import outside
from jobs.models import Job
from jobs.output_reader import finder
from jobs.output_reader.client import ReaderNotReachable
from jobs.output_reader.protocol import CHUNK, MOST_PLACES, Found, OutputChunk, OutputFound, Stream
from jobs.output_reader.text import to_text
from tenants.models import Tenant, User
from tests.api.calls import make_token, send
from tests.builders import make_member, sign_in
from tests.cases import case
from tests.jobs.builders import make_job

HTMX = {"HX-Request": "true"}


def find(data: bytes, text: str, start: int = 0) -> Found:
    return finder.find(lambda offset, most: data[offset : offset + most], len(data), start, text)


def shown(found: Found) -> list[str]:
    return [one.text[one.at : one.at + one.length] for one in found.places]


@case("U21")
@pytest.mark.parametrize(
    ("data", "text", "expected"),
    [
        (b"one\nLoss=2\nthree\n", "loss", ["Loss"]),
        (b"one\n\x1b[31mlo\x1b[0mss\n", "loss", ["loss"]),  # colours within the word
        (b"10%\r20%\r99%\n", "20%", []),  # what was written over is not shown
        (b"10%\r20%\r99%\n", "99%", ["99%"]),
        (b"helo\b\blo\n", "hello", []),
        (b"hexx\b\bllo\n", "hello", ["hello"]),
        (b"\xff\xfe caf\xe9 near\n", "near", ["near"]),  # not UTF-8
        ("größer\n".encode(), "GRößER", ["größer"]),
        ("größer\n".encode(), "GRÖßER", []),  # only letters of ASCII have two forms
        (b"a.c\nabc\n", "a.c", ["a.c"]),  # no pattern
        (b"<b>bold</b>", "<b>", ["<b>"]),  # and no end of line
        (b"\r\nA\r\n", "a", ["A"]),
        (b"", "a", []),
    ],
)
def test_what_is_shown_is_found(data: bytes, text: str, expected: list[str]) -> None:
    found = find(data, text)
    assert shown(found) == expected
    assert found.next_offset == len(data)


def test_a_place_is_the_offset_and_the_number_of_its_line() -> None:
    data = b"zero\n\x1b[1mone\x1b[0m\ntwo and two\n" + b"x" * 200 + b" two\n"
    places = find(data, "two").places
    assert [(one.line, data[one.offset : one.offset + 1]) for one in places] == [(2, b"t"), (3, b"x")]
    assert (places[1].at, len(places[1].text)) == (finder.BEFORE, finder.BEFORE + 3)
    assert find(data, "two", places[1].offset).places[0].line == 0


def test_one_look_ends_after_so_many_places_and_the_next_goes_on() -> None:
    data = b"".join(b"line %d hit\n" % number for number in range(120))
    offset, lines, numbers = 0, 0, list[int]()
    while offset < len(data):
        found = find(data, "HIT", offset)
        assert len(found.places) <= MOST_PLACES
        numbers += [lines + one.line for one in found.places]
        offset, lines = found.next_offset, lines + found.lines
    assert numbers == list(range(120))


def test_one_look_is_bounded_in_bytes_and_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 5 * 1024**3
    block = b"nothing here\n" * (finder.BLOCK // 13)
    monkeypatch.setattr(finder, "MOST_BYTES", 8 * finder.BLOCK)
    found = finder.find(lambda offset, most: block[:most], size, 0, "needle")
    assert 7 * finder.BLOCK < found.next_offset <= 9 * finder.BLOCK
    assert found.lines == found.next_offset // 13
    monkeypatch.setattr(finder, "SECONDS", 0.0)
    assert finder.find(lambda offset, most: block[:most], size, 7, "needle").next_offset == 7


@pytest.mark.parametrize("place", [finder.BLOCK - 3, finder.BLOCK - 1, finder.BLOCK, 2 * finder.BLOCK - 4])
def test_a_line_longer_than_a_block_hides_nothing(place: int) -> None:
    data = bytearray(b"." * (2 * finder.BLOCK + 100))
    data[place : place + 6] = b"needle"
    assert shown(find(bytes(data), "needle")) == ["needle"]


@given(
    st.lists(st.sampled_from([b"ab", b"A", b"\n", b"\x1b[1m", b"\r", b"\b", b"\xff", b"\x00"]), max_size=40)
)
def test_it_finds_the_lines_that_the_page_would_show(parts: list[bytes]) -> None:
    data = b"".join(parts)
    lines = [number for number, line in enumerate(data.split(b"\n")) if "ab" in to_text(line).lower()]
    assert [one.line for one in find(data, "ab").places] == lines


class File:
    """A file that is read and looked through without a reader."""

    def __init__(self) -> None:
        self.data = b""
        self.fault: Exception | None = None

    def read(self, job: Job, stream: Stream, offset: int | None = None) -> OutputChunk:
        start = max(0, len(self.data) - 64) if offset is None else offset
        return OutputChunk(
            state="ok", size=len(self.data), offset=start, data=self.data[start : start + CHUNK]
        )

    def find(self, job: Job, stream: Stream, text: str, offset: int) -> OutputFound:
        if self.fault is not None:
            raise self.fault
        if stream == "stderr":
            return OutputFound(state="same")
        first = 0 if offset > len(self.data) else offset
        return OutputFound(state="ok", size=len(self.data), offset=first, found=find(self.data, text, first))


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> File:
    made = File()
    monkeypatch.setattr(outside, "read_output", made.read)
    monkeypatch.setattr(outside, "find_output", made.find)
    return made


@pytest.fixture
def job(cluster: Cluster, alice: User) -> Job:
    return make_job(cluster, alice)


def get(client: Client, job: Job, query: str, *, htmx: bool = False) -> str:
    headers = HTMX if htmx else {}
    answer = client.get(f"/t/aurora-lab/jobs/{job.pk}/output/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def links(page: str) -> list[str]:
    """Addresses of places found, in order."""
    found = re.findall(r'<li><a href="[^"]*(\?[^"#]+)#output-place"', page)
    return [html.unescape(one) for one in found]


@pytest.mark.django_db
@case("U21")
@pytest.mark.parametrize("htmx", [True, False])
def test_found_lines_lead_to_their_place(
    client: Client, alice: User, job: Job, file: File, *, htmx: bool
) -> None:
    file.data = b"first\n" * 9000 + b"<i>the</i> needle & more\n" + b"last\n" * 9000
    sign_in(client, alice)
    page = get(client, job, "?find=Needle", htmx=htmx)
    assert "1 line in 96.7 KiB." in page
    assert "&lt;i&gt;the&lt;/i&gt; <mark>needle</mark> &amp; more" in page
    assert '<span class="found-at" title="52.7 KiB from the beginning">9001</span>' in page
    assert ('value="Needle"' in page) != htmx, "the form is not sent again"
    (place,) = links(page)
    page = get(client, job, place, htmx=htmx)
    assert 'first\n<mark id="output-place">&lt;i&gt;the&lt;/i&gt; needle &amp; more</mark>\nlast\n' in page
    assert "data-tail" not in page, "it stays at that place"
    assert re.search(r'<div id="output-poll" hidden></div>', page), "and nothing polls"
    assert "To the end of the output" in page
    assert ("<html" in page) != htmx


@pytest.mark.django_db
def test_a_look_that_found_nothing_goes_on_by_itself_and_ends(
    client: Client, alice: User, job: Job, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "MOST_BYTES", 1)
    monkeypatch.setattr(finder, "BLOCK", 1000)
    file.data = b"dull\n" * 300 + b"needle\n"
    sign_in(client, alice)
    page = get(client, job, "?find=needle", htmx=True)
    assert "Not found between 0 bytes and 1000 bytes of 1.47 KiB." in page
    on = re.search(r'<a href="[^"]*(\?[^"]+)"[^>]*hx-trigger="load', page)
    assert on
    page = get(client, job, html.unescape(on[1]), htmx=True)
    assert "1 line between 1000 bytes and 1.47 KiB of 1.47 KiB." in page
    assert ">301</span>" in page
    assert "Look on" not in page
    assert "From the beginning" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?find=" + "x" * 101, "Look for 1 to 100 characters"),
        ("?find=%0a", "Look for 1 to 100 characters"),
        ("?find=a&stream=stderr", "Same as output"),
        ("?find=a&from=99999999999", "1 line in 4 bytes."),
        ("?find=a&from=x&line=-1", "1 line in 4 bytes."),
        ("?at=99999999999", "The file has become shorter since then."),
    ],
)
def test_odd_questions_are_answered_in_a_sentence(
    client: Client, alice: User, job: Job, file: File, query: str, said: str
) -> None:
    file.data = b"abc\n"
    assert said in get(sign_in(client, alice), job, query, htmx=True)


@pytest.mark.django_db
def test_who_may_not_read_an_output_may_not_look_through_it(
    client: Client, tenant: Tenant, alice: User, job: Job, file: File
) -> None:
    file.data = b"abc\n"
    assert "1 line in 4 bytes." in get(sign_in(client, alice), job, "?find=abc")
    other = sign_in(Client(), make_member(tenant))
    for query in ("?find=abc", "?at=0"):
        assert other.get(f"/t/aurora-lab/jobs/{job.pk}/output/{query}").status_code == 403
    file.fault = ReaderNotReachable()
    assert "The output cannot be read at the moment." in get(client, job, "?find=abc")


@pytest.mark.django_db
def test_the_api_finds_too(alice: User, cluster: Cluster, job: Job, file: File) -> None:
    file.data = b"zero\nan \x1b[31merror\x1b[0m\n"
    token = make_token(alice, cluster.tenant)
    here = f"/api/v1/t/aurora-lab/jobs/{job.pk}/output/find/"
    answer = send(token, "get", f"{here}?text=ERROR")
    assert answer.status_code == 200
    assert answer.json() == {
        "state": "ok",
        "places": [{"offset": 5, "line": 1, "text": "an error", "at": 3, "length": 5}],
        "offset": 0,
        "next_offset": None,
        "lines": 2,
        "size": len(file.data),
    }
    for wrong in ("", "?text=", "?text=%0a", "?text=a&offset=-1"):
        assert send(token, "get", here + wrong).status_code == 400
