"""The output reader with real accounts: it gives a job's own files and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
import pytest

from jobs.output_reader.client import ReaderNotReachable, find, read
from jobs.output_reader.protocol import CHUNK, TAIL, OutputChunk, Stream
from tests.cases import case
from tests.contract.slurmrest.accounts import Account, accounts

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parents[2]
SOME = b"00000000-0000-4000-8000-000000000000"


@dataclass
class Reader:
    """A running reader and what it knows."""

    process: subprocess.Popen[bytes]
    folder: Path
    owner: Account
    other: Account
    portal: Account
    targets: dict[str, dict[str, dict[str, object]]] = field(default_factory=dict)

    @property
    def socket(self) -> Path:
        return self.folder / "reader.sock"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def job(self, path: Path | str, facts: dict[str, object] | None = None, *, stderr: str = "") -> uuid.UUID:
        """A job with this output path."""
        job_id = uuid.uuid4()
        known = {"account": self.owner.name, "uid": self.owner.uid, "gid": self.owner.gid} | (facts or {})
        self.targets[str(job_id)] = {
            "stdout": {"path": str(path), **known},
            "stderr": {"path": stderr, **known},
        }
        draft = self.folder / "targets.new"
        draft.write_text(json.dumps(self.targets))
        draft.rename(self.folder / "targets.json")
        return job_id

    def read(self, path: Path | str, offset: int | None = None, stream: Stream = "stdout") -> OutputChunk:
        """Ask as root."""
        return read(self.socket, self.job(path), stream, offset)

    def write(self, name: str, data: bytes, *, by: Account | None = None, mode: int = 0o600) -> Path:
        """A file of the job's owner, or of someone else."""
        path = self.home / name
        path.write_bytes(data)
        account = by or self.owner
        os.chown(path, account.uid, account.gid)
        path.chmod(mode)
        return path


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    folder = Path(tempfile.mkdtemp(prefix="freehold-reader-"))
    folder.chmod(0o711)
    (folder / "targets.json").write_text("{}")
    with accounts(3) as (owner, other, portal):
        home = folder / "home"
        home.mkdir(mode=0o700)
        os.chown(home, owner.uid, owner.gid)
        command = [sys.executable, "-m", "tests.jobs.output_reader_process"]
        command += [str(folder / "reader.sock"), str(folder / "targets.json"), portal.name]
        process = subprocess.Popen(command, cwd=REPOSITORY)
        found = Reader(process, folder, owner, other, portal)
        try:
            _until(found.socket.is_socket)
            yield found
        finally:
            process.terminate()
            process.wait(timeout=30)
            assert not found.socket.exists()
            shutil.rmtree(folder)


def _until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


@case("U21")
def test_a_jobs_own_file_in_its_closed_home(reader: Reader) -> None:
    path = reader.write("own.out", b"hello\n")
    assert reader.read(path) == OutputChunk(state="ok", size=6, offset=0, data=b"hello\n")
    part = reader.read(path, 2)
    assert (part.data, part.offset, part.next_offset, part.is_at_end) == (b"llo\n", 2, 6, True)
    assert reader.read(path, 6).data == b""


def test_large_files_come_in_parts(reader: Reader) -> None:
    data = os.urandom(CHUNK + 1000)
    path = reader.write("large.out", data)
    first = reader.read(path, 0)
    second = reader.read(path, first.next_offset)
    assert (len(first.data), first.is_at_end, second.is_at_end) == (CHUNK, False, True)
    assert first.data + second.data == data
    tail = reader.read(path)
    assert (tail.data, tail.offset) == (data[-TAIL:], len(data) - TAIL)


@case("U21")
def test_the_tail_of_five_gigabytes_is_there_at_once(reader: Reader) -> None:
    path = reader.write("huge.out", b"")
    with path.open("r+b") as file:
        file.truncate(5 * 1024**3)
        file.seek(0, os.SEEK_END)
        file.write(b"the end\n")
    began = time.monotonic()
    tail = reader.read(path)
    assert time.monotonic() - began < 2
    assert tail.size == 5 * 1024**3 + 8
    assert tail.data.endswith(b"\0the end\n")
    assert len(tail.data) == TAIL


def test_a_file_that_became_shorter_begins_again(reader: Reader) -> None:
    path = reader.write("short.out", b"new\n")
    chunk = reader.read(path, 1000)
    assert (chunk.state, chunk.offset, chunk.data) == ("ok", 0, b"new\n")


@case("U21")
def test_what_is_not_there_is_missing_and_blank_stderr_is_the_same_file(reader: Reader) -> None:
    path = reader.write("there.out", b"x")
    assert reader.read(path).state == "ok"
    assert reader.read(reader.home / "not-yet.out").state == "missing"
    assert reader.read(reader.home / "no" / "folder.out").state == "missing"
    assert reader.read(path / "below-a-file").state == "missing"
    assert reader.read(path, stream="stderr").state == "same"
    both = reader.job(path, stderr=str(path))
    assert read(reader.socket, both, "stderr", 0).data == b"x"


@case("U21")
def test_a_text_is_found_in_five_gigabytes_a_part_at_a_time(reader: Reader) -> None:
    path = reader.write("found.out", b"an early needle\n" * 60)
    size = 5 * 1024**3
    with path.open("r+b") as file:
        file.truncate(size)  # a hole: it reads as NUL, which no page shows
        file.seek(size - 8)
        file.write(b"\nneedle\n")
    job = reader.job(path)
    first = find(reader.socket, job, "stdout", "Needle", 0, deadline=10)
    assert (first.state, first.size, len(first.places), first.next_offset) == ("ok", size, 50, 50 * 16)
    last = find(reader.socket, job, "stdout", "needle", size - 100, deadline=10)
    assert ([one.offset for one in last.places], last.next_offset) == ([size - 7], None)


def test_what_may_not_be_read_may_not_be_looked_through(reader: Reader) -> None:
    own, foreign = (
        reader.write("own.out", b"secret\n"),
        reader.write("o.out", b"secret\n", by=reader.other, mode=0o666),
    )
    states = {}
    for path in (own, foreign, Path("/etc/passwd"), reader.home / "none.out"):
        states[path.name] = find(reader.socket, reader.job(path), "stdout", "secret", 0, deadline=10)
    assert {name: (one.state, len(one.places)) for name, one in states.items()} == {
        "own.out": ("ok", 1),
        "o.out": ("refused", 0),
        "passwd": ("refused", 0),
        "none.out": ("missing", 0),
    }


@case("U21")
def test_a_link_is_refused_wherever_it_leads(reader: Reader) -> None:
    path = reader.write("real.out", b"mine")
    link = reader.home / "link.out"
    for target in (path, Path("/etc/passwd"), reader.home / "nowhere"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        os.chown(link, reader.owner.uid, reader.owner.gid, follow_symlinks=False)
        assert reader.read(link).state == "refused"
    assert reader.read(path).data == b"mine"


@case("U21")
def test_anothers_file_is_refused_though_everyone_may_read_it(reader: Reader) -> None:
    public = reader.write("public.out", b"not yours", by=reader.other, mode=0o644)
    closed = reader.write("closed.out", b"not yours", by=reader.other, mode=0o600)
    hard = reader.home / "hard.out"
    os.link(public, hard)
    for path in (public, closed, hard, Path("/etc/passwd"), Path("/etc/shadow")):
        assert reader.read(path).state == "refused"
    for path in (public, closed):  # accepted as its owner's, from a place that the owner reaches
        os.chown(path, reader.owner.uid, reader.owner.gid)
        assert reader.read(path).data == b"not yours"


def test_what_only_root_could_reach_is_refused(reader: Reader) -> None:
    path = reader.write("moved.out", b"mine, but locked away")
    assert reader.read(path).state == "ok"
    closed = reader.folder / "root-only"
    closed.mkdir(mode=0o700)
    path = path.rename(closed / "moved.out")
    assert reader.read(path).state == "refused"


def test_dots_lead_nowhere_else(reader: Reader) -> None:
    path = reader.write("dots.out", b"own")
    assert reader.read(f"{reader.home}/../home/dots.out").data == b"own"
    assert reader.read(f"{reader.home}/../../../../../etc/passwd").state == "refused"
    for bad in ("relative.out", f"{path}\0.txt", "", "./x"):
        assert reader.read(bad).state in {"refused", "missing"}


def test_pipes_folders_and_devices_do_not_hang(reader: Reader) -> None:
    fifo = reader.home / "fifo.out"
    os.mkfifo(fifo)
    os.chown(fifo, reader.owner.uid, reader.owner.gid)
    listening = reader.home / "sock.out"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        os.chown(listening, reader.owner.uid, reader.owner.gid)
        began = time.monotonic()
        for path in (fifo, listening, reader.home, Path("/dev/zero"), Path("/dev/tty")):
            assert reader.read(path).state == "not_regular", path
        assert time.monotonic() - began < 5


def test_the_child_shows_nothing_of_the_portals_memory(reader: Reader) -> None:
    for name in ("environ", "mem", "maps", "auxv"):
        assert reader.read(f"/proc/self/{name}").state == "refused"
        assert reader.read(f"/proc/{reader.process.pid}/{name}").state == "refused"


@pytest.mark.parametrize(
    "facts", [{"account": "root", "uid": 0, "gid": 0}, {"uid": 0}, {"gid": 0}, {"uid": 1234}]
)
def test_only_accounts_of_ours_with_their_own_ids(reader: Reader, facts: dict[str, object]) -> None:
    path = reader.write("ids.out", b"x")
    assert read(reader.socket, reader.job(path), "stdout", 0).state == "ok"
    assert read(reader.socket, reader.job(path, facts), "stdout", 0).state == "unknown"
    if "uid" in facts:
        named = {"account": reader.other.name, **facts}
        assert read(reader.socket, reader.job(path, named), "stdout", 0).state == "unknown"


def test_an_unknown_job_is_no_error(reader: Reader) -> None:
    assert read(reader.socket, uuid.uuid4(), "stdout", None).state == "unknown"


# becomes the account only after its imports: a clone below a closed home is out of the account's reach
ASK = """
import os, sys, uuid
from django.conf import settings
settings.configure(USE_I18N=False)
from jobs.output_reader.client import ReaderNotReachable, find, read
ReaderNotReachable()  # its words are loaded while this may still read the code
path, job, uid, gid = sys.argv[1:]
os.setgroups([])
os.setgid(int(gid))
os.setuid(int(uid))
print(read(path, uuid.UUID(job), "stdout", 0).state)
"""


def _ask_as(
    reader: Reader, account: Account, job_id: uuid.UUID, path: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK, str(path), str(job_id), str(account.uid), str(account.gid)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_the_portal_may_ask(reader: Reader) -> None:
    job_id = reader.job(reader.write("peer.out", b"x"))
    found = reader.socket.stat()
    assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o660, 0, reader.portal.gid)
    assert _ask_as(reader, reader.portal, job_id, reader.socket).stdout == "ok\n"
    # of the same group in this test, so that the file's mode lets them connect: they are turned away then
    stranger = _ask_as(reader, reader.owner, job_id, reader.socket)
    assert stranger.stdout == ""
    assert "ReaderNotReachable" in stranger.stderr


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"not json\n",
        b'{"job": "x", "stream": "stdout"}\n',
        b'{"job": "%s", "stream": "stdin"}\n' % SOME,
        b'{"job": "%s", "stream": "stdout", "offset": -1}\n' % SOME,
        b'{"job": "%s", "stream": "stdout", "path": "/etc/shadow"}\n' % SOME,
        b"x" * 5000,
        b"",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_odd_requests_are_refused_and_harm_nobody(reader: Reader, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(reader.socket))
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        header = msgspec.json.decode(connection.recv(1000))
    assert header["state"] == "failed"
    assert reader.read(reader.write("after.out", b"x")).state == "ok"


def test_a_peer_that_says_nothing_holds_nobody_for_long(reader: Reader) -> None:
    path = reader.write("silent.out", b"x")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(reader.socket))
        began = time.monotonic()
        assert reader.read(path).state == "ok"
        assert time.monotonic() - began < 4


def test_no_child_is_left(reader: Reader) -> None:
    path = reader.write("many.out", b"x" * 100)
    job_id = reader.job(path)
    assert [read(reader.socket, job_id, "stdout", 0).state for _ in range(50)] == ["ok"] * 50
    parent = psutil.Process(reader.process.pid)
    _until(lambda: not parent.children(recursive=True), 5)


def test_without_a_reader_the_error_is_temporary(tmp_path: Path) -> None:
    with pytest.raises(ReaderNotReachable):
        read(tmp_path / "none.sock", uuid.uuid4(), "stdout", 0)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        with pytest.raises(ReaderNotReachable):
            read(tmp_path / "silent.sock", uuid.uuid4(), "stdout", 0, deadline=0.2)


def test_a_stale_socket_does_not_block_the_next_start(reader: Reader) -> None:
    folder = reader.folder / "second"
    folder.mkdir()
    (folder / "targets.json").write_text("{}")
    path = folder / "reader.sock"
    command = [sys.executable, "-m", "tests.jobs.output_reader_process", str(path)]
    command += [str(folder / "targets.json"), reader.portal.name]
    for number in (signal.SIGKILL, signal.SIGTERM):
        process = subprocess.Popen(command, cwd=REPOSITORY)
        _until(lambda: _answers(path))
        process.send_signal(number)
        process.wait(timeout=30)
        assert path.exists() == (number == signal.SIGKILL)


def _answers(path: Path) -> bool:
    try:
        return read(path, uuid.uuid4(), "stdout", 0).state == "unknown"
    except ReaderNotReachable:
        return False
