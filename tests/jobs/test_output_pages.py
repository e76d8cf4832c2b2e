"""The output of a job in the page: the tail, what is added, and what is told instead."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from clusters.models import Cluster
from jobs import outside
from jobs.models import Job
from jobs.output_reader.client import ReaderNotReachable
from jobs.output_reader.protocol import CHUNK, TAIL, OutputChunk, State, Stream
from tenants.models import Role, Tenant, User
from tests.builders import make_member, sign_in
from tests.cases import case
from tests.jobs.builders import make_job

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


class File:
    """A file that a job writes."""

    def __init__(self) -> None:
        self.data = b""
        self.state: State = "ok"
        self.fault: Exception | None = None

    def read(self, job: Job, stream: Stream, offset: int | None = None) -> OutputChunk:
        if self.fault is not None:
            raise self.fault
        if self.state != "ok" or stream == "stderr":
            return OutputChunk(state=self.state if stream == "stdout" else "same")
        size = len(self.data)
        start = max(0, size - TAIL) if offset is None or offset > size else offset
        return OutputChunk(state="ok", size=size, offset=start, data=self.data[start : start + CHUNK])


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> File:
    made = File()
    monkeypatch.setattr(outside, "read_output", made.read)
    return made


@pytest.fixture
def job(cluster: Cluster, alice: User) -> Job:
    return make_job(cluster, alice)


class Pane:
    """What a browser with htmx shows: it opens the pane and follows the poller."""

    def __init__(self, client: Client, job: Job, query: str = "") -> None:
        self.client = client
        page = client.get(f"/t/aurora-lab/jobs/{job.pk}/output/{query}", headers=HTMX).content.decode()
        self.lines = self._part(page, "output-lines")
        self._take(page)

    def poll(self) -> None:
        assert self.next is not None, "nothing polls any more"
        page = self.client.get(self.next, headers=HTMX).content.decode()
        added = self._part(page, "output-lines")
        self.lines = self.lines + added if 'id="output-lines" hx-swap-oob="beforeend"' in page else added
        self._take(page)

    def _take(self, page: str) -> None:
        self.last, self.said = self._part(page, "output-last"), self._part(page, "output-said")
        self.note = self._part(page, "output-note")
        found = re.search(r'id="output-poll"[^>]*hx-get="([^"]+)"', page)
        self.next = html.unescape(found[1]) if found else None

    @staticmethod
    def _part(page: str, name: str) -> str:
        found = re.search(rf'<(span|p)[^>]*id="{name}"[^>]*>(.*?)</\1>', page, re.DOTALL)
        assert found, name
        return html.unescape(found[2])


def test_what_is_written_is_added_and_a_half_line_is_shown_until_it_ends(
    client: Client, alice: User, job: Job, file: File
) -> None:
    file.data = b"one\ntwo\nhal"
    pane = Pane(sign_in(client, alice), job)
    assert (pane.lines, pane.last) == ("one\ntwo\n", "hal")
    file.data += b"f\nthree"
    pane.poll()
    assert (pane.lines, pane.last) == ("one\ntwo\nhalf\n", "three")
    file.data += b"\n"
    Job.objects.update(state="COMPLETED")
    pane.poll()
    assert (pane.lines, pane.last, pane.next) == ("one\ntwo\nhalf\nthree\n", "", None)


@case("U21")
def test_a_huge_file_shows_its_last_part_at_once(client: Client, alice: User, job: Job, file: File) -> None:
    file.data = b"".join(b"line %08d\n" % number for number in range(400_000))
    pane = Pane(sign_in(client, alice), job)
    assert len(pane.lines) <= TAIL
    assert pane.lines.startswith("line "), "a line that was cut is left out"
    assert pane.lines.endswith("line 00399999\n")
    assert pane.note == "Last 63 KiB of 5.34 MiB" or pane.note == "Last 64 KiB of 5.34 MiB"


@case("U21")
def test_html_stays_text_and_progress_bars_show_their_last_state(
    client: Client, alice: User, job: Job, file: File
) -> None:
    file.data = b"<script>alert(1)</script>\n10%\r20%\r30%\n\x1b[31mred\x1b[0m \xff\n"
    sign_in(client, alice)
    page = client.get(f"/t/aurora-lab/jobs/{job.pk}/output/").content.decode()
    assert "<script>alert" not in page
    assert Pane(client, job).lines == "<script>alert(1)</script>\n30%\nred \ufffd\n"


@case("U21")
@pytest.mark.parametrize(
    ("state", "job_state", "told"),
    [
        ("missing", "RUNNING", "Not there yet"),
        ("missing", "COMPLETED", "There is no such file"),
        ("refused", "RUNNING", "This file is not shown"),
        ("not_regular", "RUNNING", "not a regular file"),
        ("ok", "RUNNING", "Nothing written yet."),
        ("ok", "COMPLETED", "The file is empty."),
        ("ok", "PENDING", "The job has not started"),
    ],
)
def test_without_text_it_says_why(
    client: Client, alice: User, job: Job, file: File, state: State, job_state: str, told: str
) -> None:
    Job.objects.update(state=job_state)
    file.state = state
    pane = Pane(sign_in(client, alice), job)
    assert told in pane.said
    assert (pane.next is None) == (job_state == "COMPLETED")


@case("U21")
def test_a_blank_error_file_is_the_same_as_output(client: Client, alice: User, job: Job, file: File) -> None:
    assert "Same as output" in Pane(sign_in(client, alice), job, "?stream=stderr").said


def test_a_job_that_starts_begins_to_show(client: Client, alice: User, job: Job, file: File) -> None:
    Job.objects.update(state="PENDING")
    pane = Pane(sign_in(client, alice), job)
    Job.objects.update(state="RUNNING")
    file.data = b"begun\n"
    pane.poll()
    assert (pane.lines, pane.said) == ("begun\n", "")


def test_a_file_that_begins_again_is_shown_afresh(client: Client, alice: User, job: Job, file: File) -> None:
    file.data = b"first run\n" * 5
    pane = Pane(sign_in(client, alice), job)
    file.data = b"second\n"
    pane.poll()
    assert pane.lines == "second\n"


def test_a_reader_that_is_away_keeps_what_is_shown_and_is_asked_again(
    client: Client, alice: User, job: Job, file: File
) -> None:
    file.data = b"kept\n"
    pane = Pane(sign_in(client, alice), job)
    file.fault = ReaderNotReachable()
    pane.poll()
    assert (pane.lines, pane.said) == ("kept\n", "The output cannot be read at the moment.")
    file.fault = None
    file.data += b"more\n"
    pane.poll()
    assert (pane.lines, pane.said) == ("kept\nmore\n", "")


def test_the_page_does_not_grow_without_end(client: Client, alice: User, job: Job, file: File) -> None:
    pane = Pane(sign_in(client, alice), job)
    for _ in range(12):
        file.data += b"x" * 63 + b"\n"
        file.data += (b"y" * 127 + b"\n") * 2047
        pane.poll()
    assert len(pane.lines) < 3 * 1024 * 1024
    assert pane.lines.endswith("y\n")


def test_the_download_is_the_whole_file_as_it_is(client: Client, alice: User, job: Job, file: File) -> None:
    file.data = bytes(range(256)) * 4000
    response = sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/output/file/")
    assert response.getvalue() == file.data
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="job-{job.slurm_job_id}.out"'


def test_a_download_of_what_is_not_there_says_so(client: Client, alice: User, job: Job, file: File) -> None:
    file.state = "missing"
    assert sign_in(client, alice).get(f"/t/aurora-lab/jobs/{job.pk}/output/file/").status_code == 409


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_output_is_for_the_owner_and_admins(
    client: Client, tenant: Tenant, alice: User, job: Job, file: File, role: Role
) -> None:
    paths = [f"/t/aurora-lab/jobs/{job.pk}/output/", f"/t/aurora-lab/jobs/{job.pk}/output/file/"]
    for person in (alice, make_member(tenant, Role.ADMIN)):
        assert [sign_in(Client(), person).get(path).status_code for path in paths] == [200, 200]
    other = sign_in(client, make_member(tenant, role))
    assert [other.get(path).status_code for path in paths] == [403, 403]
